/**
 * The daemon's side of the thread of screens. The thread starts with the first terminal and is started again when it
 * dies: every terminal then gets a new screen from what its ring still holds, and nobody else notices.
 */
import { Worker } from "node:worker_threads";
import type { Logger } from "@sand/node-kit";
import { ptyLimits } from "./pty-limits.ts";
import type { ScreenReply, ScreenRequest } from "./screen-messages.ts";
import type { TerminalSize } from "./terminal-backend.ts";

export interface ScreenPicture extends TerminalSize {
  readonly data: string;
  /** the terminal's output up to here is in it */
  readonly offset: number;
}

export interface ScreenEvents {
  /** the screen is so far behind that its terminal should not be read, or no longer */
  readonly onBehind: (isBehind: boolean) => void;
  readonly onTitle: (title: string) => void;
  readonly onCwd: (cwd: string) => void;
  /** what a new screen begins with */
  readonly replay: () => { readonly size: TerminalSize; readonly offset: number; readonly bytes: Buffer };
}

export interface ScreenHandle {
  write(bytes: Buffer): void;
  /** What is written next begins at that offset: what lies between is lost. */
  jump(offset: number): void;
  resize(size: TerminalSize): void;
  /** Undefined when no picture could be made in time. */
  picture(): Promise<ScreenPicture | undefined>;
  close(): void;
}

export interface Screens {
  open(id: string, size: TerminalSize, events: ScreenEvents): ScreenHandle;
  /** Ends the thread as a fault would; it is started again. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

interface OpenScreen {
  readonly id: string;
  readonly events: ScreenEvents;
  /** bytes that the thread has been sent, and has drawn */
  sent: number;
  drawn: number;
  /** what is counted as sent and goes in a moment, when `timer` is due or it is enough */
  readonly unsent: Buffer[];
  unsentBytes: number;
  timer: NodeJS.Timeout | undefined;
  isBehind: boolean;
  readonly waiting: Map<
    number,
    { readonly offset: number; readonly done: (picture: ScreenPicture | undefined) => void }
  >;
}

const restartsMax = 5;

export function createScreens(deps: { readonly entry: string; readonly log: Logger }): Screens {
  const open = new Map<string, OpenScreen>();
  let worker: Worker | undefined;
  let turns = 0;
  let restarts = 0;
  let isClosed = false;

  function start(): Worker {
    const started = new Worker(deps.entry, {
      ...{ argv: ["screens"], env: {}, stdout: false, stderr: false },
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    // A thread that only waits is no reason for the daemon to stay.
    started.unref();
    started.on("message", (reply: ScreenReply) => hear(open.get(reply.id), reply));
    started.on("error", (error) =>
      deps.log.warn({ event: "pty.screens-failed", err: error }, "the thread of screens failed"),
    );
    started.once("exit", () => {
      if (worker === started) onDeath();
    });
    return started;
  }

  function onDeath(): void {
    worker = undefined;
    for (const one of open.values()) giveUp(one);
    restarts += 1;
    if (isClosed || restarts > restartsMax || open.size === 0) return;
    worker = start();
    for (const one of open.values()) {
      const { size, offset, bytes } = one.events.replay();
      // The ring has that too.
      forgetUnsent(one);
      one.sent = offset;
      one.drawn = offset;
      send({ kind: "open", id: one.id, ...size });
      feed(one, bytes);
    }
  }

  function send(request: ScreenRequest): void {
    worker?.postMessage(request);
  }

  /**
   * What comes within a moment is sent as one. Nobody looks at the screen meanwhile, and to wake its thread for each
   * key would take the processor from whoever waits for the echo.
   */
  function feed(one: OpenScreen, bytes: Buffer): void {
    one.sent += bytes.length;
    one.unsentBytes += bytes.length;
    one.unsent.push(bytes);
    if (one.unsentBytes >= ptyLimits.mirrorBatchBytes) flush(one);
    else one.timer ??= setTimeout(flush, ptyLimits.mirrorBatchMs, one);
    noteBehind(one);
  }

  /** Bytes, sizes and questions reach the thread in their order. */
  function flush(one: OpenScreen): void {
    const { unsent } = one;
    if (unsent.length === 0) return;
    // A copy, since the reader's buffers may be slices of larger ones.
    const bytes = new Uint8Array(Buffer.concat(unsent));
    forgetUnsent(one);
    send({ kind: "data", id: one.id, bytes });
  }

  function noteBehind(one: OpenScreen): void {
    const behind = worker === undefined ? 0 : one.sent - one.drawn;
    const isBehind = behind > (one.isBehind ? ptyLimits.mirrorResumeBytes : ptyLimits.mirrorBehindMaxBytes);
    if (isBehind === one.isBehind) return;
    one.isBehind = isBehind;
    one.events.onBehind(isBehind);
  }

  function hear(one: OpenScreen | undefined, reply: ScreenReply): void {
    if (one === undefined) return;
    switch (reply.kind) {
      case "drawn":
        one.drawn += reply.bytes;
        noteBehind(one);
        return;
      case "title":
        one.events.onTitle(reply.title);
        return;
      case "cwd":
        one.events.onCwd(reply.cwd);
        return;
      case "snapshot": {
        const { data, cols, rows, turn } = reply;
        const asked = one.waiting.get(turn);
        asked?.done({ data, cols, rows, offset: asked.offset });
      }
    }
  }

  function picture(one: OpenScreen): Promise<ScreenPicture | undefined> {
    if (worker === undefined) return Promise.resolve(undefined);
    turns += 1;
    const turn = turns;
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(undefined), ptyLimits.snapshotMaxMs);
      function done(found: ScreenPicture | undefined): void {
        clearTimeout(timer);
        one.waiting.delete(turn);
        resolve(found);
      }
      flush(one);
      one.waiting.set(turn, { offset: one.sent, done });
      send({ kind: "snapshot", id: one.id, turn });
    });
  }

  return {
    open(id, size, events) {
      worker ??= start();
      const one: OpenScreen = {
        id,
        events,
        sent: 0,
        drawn: 0,
        ...{ unsent: [], unsentBytes: 0, timer: undefined },
        isBehind: false,
        waiting: new Map(),
      };
      open.set(id, one);
      send({ kind: "open", id, ...size });
      return {
        write: (bytes) => feed(one, bytes),
        jump(offset) {
          // What is on its way to the thread still is.
          one.drawn += offset - one.sent;
          one.sent = offset;
        },
        resize(next) {
          flush(one);
          send({ kind: "resize", id, ...next });
        },
        picture: () => picture(one),
        close() {
          open.delete(id);
          forgetUnsent(one);
          giveUp(one);
          send({ kind: "close", id });
        },
      };
    },
    async kill() {
      await worker?.terminate();
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

function forgetUnsent(one: OpenScreen): void {
  clearTimeout(one.timer);
  one.timer = undefined;
  one.unsent.length = 0;
  one.unsentBytes = 0;
}

/** Whoever waits for a picture, or for the screen to catch up, waits no longer. */
function giveUp(one: OpenScreen): void {
  for (const { done } of one.waiting.values()) done(undefined);
  if (!one.isBehind) return;
  one.isBehind = false;
  one.events.onBehind(false);
}
