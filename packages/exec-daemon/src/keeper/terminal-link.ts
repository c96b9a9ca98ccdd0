/**
 * The daemon's end of a terminal that a shim keeps. The shim owns the terminal and writes all of its output to the
 * spool; a link reads from an offset on, from the spool first and then live, so that a link which is opened again, by
 * this daemon or the next one, goes on without a gap.
 *
 * 1. Output comes in order, each byte once, with its offset. A jump in the offsets is what the spool has dropped.
 * 2. While a link is paused the shim isn't read, and after a socket's worth of output it doesn't read the terminal.
 * 3. The end comes once, after the last byte: the shim lets its clients go first and then the spool has the rest.
 */
import { closeSync, openSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { BoxError } from "@sand/protocol";
import { executionFiles, startedSeq } from "../ledger/execution-folder.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { createSpoolReader } from "../spool/spool-reader.ts";
import {
  createShimFrameParser,
  encodeHangUp,
  encodeInput,
  encodeSize,
  type ShimFrame,
} from "./terminal-frames.ts";

export interface TerminalLink {
  /** Resolves when the kernel has it on its way to the terminal; waits while the terminal is full. */
  write(bytes: Uint8Array): Promise<void>;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  pause(): void;
  resume(): void;
  /** Takes the terminal away from what runs there. */
  hangUp(): void;
  /** Leaves the terminal alone; nothing comes any more. */
  close(): void;
}

export interface TerminalLinkDeps {
  /** followed, and started */
  readonly execution: TrackedExecution;
  /** bytes of output that are known already */
  readonly after: number;
  readonly onOutput: (bytes: Buffer, offset: number) => void;
  readonly onEnd: () => void;
}

const pageBytes = 256 * 1024;
/** a missed notice of the file system delays the end by at most this */
const lookAgainMs = 500;

export function openTerminalLink(deps: TerminalLinkDeps): TerminalLink {
  const { execution } = deps;
  const spool = createSpoolReader(execution.folder);
  const parser = createShimFrameParser();
  const socket = connect(execution.folder);
  let nextSeq = startedSeq + 1;
  let offset = deps.after;
  let isClosed = false;
  let isPaused = false;
  let whenResumed = Promise.withResolvers<void>();

  function give(bytes: Buffer, at: number): void {
    const known = Math.max(0, offset - at);
    if (isClosed || known >= bytes.length) return;
    offset = at + bytes.length;
    deps.onOutput(bytes.subarray(known), at + known);
  }

  /** Gives what the spool has, up to `until`; true when there was something. */
  async function giveSpooled(until: number): Promise<void> {
    while (!isClosed && offset < until) {
      if (isPaused) await whenResumed.promise;
      const frames = spool.read(nextSeq, pageBytes);
      if (frames.length === 0) return;
      for (const frame of frames) {
        nextSeq = frame.seq + 1;
        give(frame.bytes, frame.offset);
      }
    }
  }

  /** One after the other: what comes live waits for what was before it, and mostly nothing is. */
  let work: Promise<void> = Promise.resolve();
  let isCatchingUp = false;
  function take(frame: ShimFrame): void {
    if (frame.kind === "hello") {
      isCatchingUp = true;
      work = work
        .then(() => giveSpooled(frame.offset))
        .then(() => {
          isCatchingUp = false;
        });
      return;
    }
    if (isCatchingUp) work = work.then(() => give(frame.bytes, frame.offset));
    else give(frame.bytes, frame.offset);
  }

  async function finish(): Promise<void> {
    await work;
    execution.follow();
    execution.refresh();
    while (!isClosed && execution.closed === undefined) {
      await giveSpooled(Number.POSITIVE_INFINITY);
      await execution.changes.after(execution.changes.version, lookAgainMs);
      execution.refresh();
    }
    await giveSpooled(Number.POSITIVE_INFINITY);
    if (isClosed) return;
    close();
    deps.onEnd();
  }

  function close(): void {
    isClosed = true;
    socket.destroy();
    whenResumed.resolve();
  }

  socket.on("data", (bytes) => {
    try {
      for (const frame of parser.push(bytes)) take(frame);
    } catch {
      // No shim of ours says that. The spool has the same output.
      socket.destroy();
    }
  });
  // A terminal that ended in between has nobody who listens; then the spool has all of it.
  socket.on("error", () => undefined);
  socket.on("close", () => void finish());

  return {
    write: (bytes) => writeAll(socket, bytes),
    resize: (size) => void socket.write(encodeSize(size)),
    pause() {
      if (isPaused) return;
      isPaused = true;
      whenResumed = Promise.withResolvers<void>();
      socket.pause();
    },
    resume() {
      isPaused = false;
      whenResumed.resolve();
      socket.resume();
    },
    hangUp: () => void socket.write(encodeHangUp()),
    close,
  };
}

/** By a descriptor of the folder, because a socket's path may have little more than a hundred bytes. */
function connect(folder: string): Socket {
  const fd = openSync(folder, "r");
  const socket = createConnection({ path: `/proc/self/fd/${fd}/${executionFiles.terminal}` });
  let isOpen = true;
  // A connection may fail after it was made; by then the number may be another file's.
  const release = (): void => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  socket.once("connect", release);
  socket.once("error", release);
  return socket;
}

function writeAll(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(encodeInput(bytes), (error) => {
      if (error === null || error === undefined) resolve();
      else reject(new BoxError("terminal/ended", "the terminal has ended", { cause: error }));
    });
  });
}
