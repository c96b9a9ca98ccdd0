/**
 * One client at one terminal, from the moment it may see it until its socket is closed.
 *
 * 1. It has a place in the terminal's ring and no queue of its own: while its socket is full its place waits, and when
 *    the ring has gone on without it, it gets a picture of the screen and goes on from there.
 * 2. Its input counts only when it has acknowledged what it was shown first.
 * 3. It is cut off, alone, when it takes nothing of what waits for it.
 */
import { BoxError } from "@sand/protocol";
import type { WebSocket } from "ws";
import { createClientSocket } from "./client-socket.ts";
import { decideReplay } from "./decide-replay.ts";
import {
  type ClientMessage,
  closeCodes,
  outputFrame,
  parseFrame,
  replayFrame,
  type ServerMessage,
} from "./frames.ts";
import { ptyLimits } from "./pty-limits.ts";
import type { Terminal, TerminalListener } from "./terminal.ts";
import type { TerminalSize } from "./terminal-backend.ts";

export interface AttachWish {
  /** the offset behind what the client has seen already */
  readonly since: number | undefined;
  readonly size: TerminalSize | undefined;
  readonly mode: "write" | "view";
  readonly takeover: boolean;
}

export interface Attachment {
  /** Cuts the client off when it is silent or stuck; asks it for a sign of life else. */
  checkPeer(nowMs: number): void;
}

/** pictures in a row that were out of date before they could be used; then the client is too slow for this terminal */
const picturesMax = 5;

export function attachClient(terminal: Terminal, connection: WebSocket, wish: AttachWish): Attachment {
  const { ring } = terminal;
  let hasGreeted = false;
  /** undefined: a picture is on its way, and what comes meanwhile waits in the ring */
  let place: number | undefined;
  /** what is older than this is replay */
  let replayEnd = 0;
  let awaitedAck = 0;
  let acked = 0;
  let badMessages = 0;
  let pictures = 0;

  const listener: TerminalListener = {
    onOutput: pump,
    onExit: pump,
    onResize: (size, offset) => note({ type: "resize", ...size, offset }),
    onTitle: (title) => note({ type: "title", title }),
    onCwd: (cwd) => note({ type: "cwd", cwd }),
    onLease: (held, free) => note({ type: "lease", held, free }),
    onTakenOver: () => client.leave(closeCodes.takenOver, "another client writes now"),
    onDrained: () => client.resume(),
  };
  const listening = terminal.listen(listener);
  const client = createClientSocket(connection, {
    onRoom: pump,
    onOver: () => listening.stop(),
    onMessage(data, isBinary) {
      try {
        obey(parseFrame(data, isBinary));
      } catch (error) {
        refuse(error);
      }
    },
  });

  /** The greeting comes first and says all this already. */
  function note(message: ServerMessage): void {
    if (hasGreeted) client.say(message);
  }

  function pump(): void {
    while (!client.isOver && client.hasRoom && place !== undefined && place < ring.end) {
      const isReplay = place < replayEnd;
      const replayLeft = isReplay ? replayEnd - place : ptyLimits.outputFrameMaxBytes;
      const bytes = ring.read(place, Math.min(replayLeft, ptyLimits.outputFrameMaxBytes));
      if (bytes === undefined) {
        showPicture();
        return;
      }
      client.send(isReplay ? replayFrame(place, bytes) : outputFrame(bytes));
      place += bytes.length;
    }
    if (place !== ring.end || terminal.exit === undefined || client.isOver) return;
    client.say({ type: "exit", ...terminal.exit });
    client.leave(closeCodes.ended, "the program has ended");
  }

  function showPicture(): void {
    place = undefined;
    pictures += 1;
    if (pictures > picturesMax) {
      client.leave(closeCodes.slow, "too slow for this terminal");
      return;
    }
    void terminal.picture().then((picture) => {
      if (client.isOver) return;
      const { data, cols, rows, offset } = picture ?? { data: "", ...terminal.size, offset: ring.start };
      if (pictures === 1 && awaitedAck > 0) awaitedAck = offset;
      client.say({ type: "snapshot", cols, rows, offset, data });
      place = offset;
      pump();
      if (place !== undefined) pictures = 1;
    });
  }

  function begin(): void {
    if (wish.mode === "write" && !terminal.takeLease(listener, ring.end, wish.takeover)) {
      client.leave(closeCodes.leaseHeld, "another client writes here");
      return;
    }
    if (wish.mode === "write" && wish.size !== undefined) {
      terminal.resize(wish.size);
      terminal.settleSize();
    }
    const { since, size } = wish;
    const replay = decideReplay({ ring, since, seen: size, actual: terminal.size });
    const from = replay.kind === "bytes" ? replay.from : ring.end;
    hasGreeted = true;
    client.say({
      ...{ type: "hello", version: 1, terminal: terminal.describe(), lease: terminal.holdsLease(listener) },
      ...{ replay: replay.kind, from, offset: ring.end },
    });
    replayEnd = ring.end;
    awaitedAck = replay.kind === "none" ? 0 : ring.end;
    if (replay.kind === "snapshot") {
      showPicture();
      return;
    }
    place = from;
    pump();
  }

  function obey(message: ClientMessage): void {
    switch (message.type) {
      case "auth":
        refuse(new BoxError("exec/invalid", "this connection is authenticated already"));
        return;
      case "ping":
        client.say({ type: "pong", nonce: message.nonce });
        return;
      case "ack":
        acknowledge(message.offset);
        return;
      case "lease":
        if (message.action === "release") terminal.releaseLease(listener);
        else if (!terminal.takeLease(listener, ring.end, false))
          refuse(new BoxError("terminal/lease-held", "another client writes here"));
        return;
      case "stdin":
      case "resize":
      case "signal":
        if (terminal.holdsLease(listener)) write(message);
        else refuse(new BoxError("terminal/not-writer", "only the client with the lease may do that"));
    }
  }

  function write(message: Extract<ClientMessage, { type: "stdin" | "resize" | "signal" }>): void {
    switch (message.type) {
      case "resize":
        terminal.resize(message);
        return;
      case "signal":
        if (!terminal.signal(message.name))
          refuse(new BoxError("terminal/ended", "nobody is there to be signalled"));
        return;
      case "stdin":
        // It may be a terminal's answer to a question in what was replayed, and would be typed into the shell.
        if (acked < awaitedAck || message.bytes.length === 0) return;
        terminal.write(message.bytes).catch(refuse);
        if (terminal.inputPendingBytes > ptyLimits.inputPendingMaxBytes) client.pause();
    }
  }

  function acknowledge(offset: number): void {
    if (offset > ring.end) throw new BoxError("exec/invalid", "there is no output up to that offset");
    acked = Math.max(acked, offset);
    terminal.acknowledge(listener, offset);
  }

  function refuse(error: unknown): void {
    const known = error instanceof BoxError ? error : new BoxError("exec/internal", "the daemon failed");
    client.say({
      ...{ type: "error", code: known.code, message: known.message },
      ...(known.hint === undefined ? {} : { hint: known.hint }),
    });
    if (known.code !== "exec/invalid") return;
    badMessages += 1;
    if (badMessages > ptyLimits.badMessagesMax)
      client.leave(closeCodes.malformed, "too many messages that mean nothing");
  }

  begin();
  return { checkPeer: client.checkPeer };
}
