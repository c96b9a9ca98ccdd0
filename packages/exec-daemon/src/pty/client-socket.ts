/**
 * One client's socket with its deadlines: it tells when there is room, pauses what it can't take, and cuts off a peer
 * that is silent or takes nothing, in seconds instead of the quarter of an hour that TCP would take.
 */
import type { WebSocket } from "ws";
import { closeCodes, type ServerMessage } from "./frames.ts";
import { ptyLimits } from "./pty-limits.ts";

export interface ClientSocket {
  readonly isOver: boolean;
  /** False while more waits in the socket than it should. */
  readonly hasRoom: boolean;
  say(message: ServerMessage): void;
  send(data: string | Buffer): void;
  leave(code: number, reason: string): void;
  /** Nothing is read from the client until `resume`. */
  pause(): void;
  resume(): void;
  checkPeer(nowMs: number): void;
}

export interface ClientSocketEvents {
  readonly onMessage: (data: Buffer, isBinary: boolean) => void;
  /** some of what waited has been taken */
  readonly onRoom: () => void;
  /** once, whoever ended it */
  readonly onOver: () => void;
}

const closeMaxMs = 1_000;

export function createClientSocket(socket: WebSocket, events: ClientSocketEvents): ClientSocket {
  let isOver = false;
  let lastHeardMs = Date.now();
  let lastTakenMs = Date.now();
  let pausedSinceMs: number | undefined;

  function send(data: string | Buffer): void {
    if (isOver || socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount === 0) lastTakenMs = Date.now();
    socket.send(data, () => {
      lastTakenMs = Date.now();
      events.onRoom();
    });
  }

  function end(): void {
    if (isOver) return;
    isOver = true;
    events.onOver();
  }

  function leave(code: number, reason: string): void {
    if (isOver) return;
    end();
    socket.resume();
    socket.close(code, reason);
    // A peer that doesn't answer the close is not waited for.
    setTimeout(() => socket.terminate(), closeMaxMs).unref();
  }

  const hear = (): void => {
    lastHeardMs = Date.now();
  };
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    hear();
    if (!isOver) events.onMessage(data, isBinary);
  });
  socket.on("pong", hear);
  socket.on("close", end);

  return {
    get isOver() {
      return isOver;
    },
    get hasRoom() {
      return socket.bufferedAmount < ptyLimits.socketBufferMaxBytes;
    },
    say: (message) => send(JSON.stringify(message)),
    send,
    leave,
    pause() {
      if (isOver || pausedSinceMs !== undefined) return;
      pausedSinceMs = Date.now();
      socket.pause();
    },
    resume() {
      if (isOver || pausedSinceMs === undefined) return;
      pausedSinceMs = undefined;
      hear();
      socket.resume();
    },
    checkPeer(nowMs) {
      if (isOver) return;
      const isStuck = socket.bufferedAmount > 0 && nowMs - lastTakenMs > ptyLimits.peerSilentMaxMs;
      const inputStuck = pausedSinceMs !== undefined && nowMs - pausedSinceMs > ptyLimits.inputStallMaxMs;
      // A socket that isn't read brings no answers either.
      const isSilent = pausedSinceMs === undefined && nowMs - lastHeardMs > ptyLimits.peerSilentMaxMs;
      if (isStuck || inputStuck) leave(closeCodes.slow, "too slow");
      else if (isSilent) leave(closeCodes.leaving, "no answer");
      else socket.ping();
    },
  };
}
