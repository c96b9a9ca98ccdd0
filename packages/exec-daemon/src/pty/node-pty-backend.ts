/**
 * Terminals by node-pty's addon, in this process. They end with it: the kernel hangs up when the master is closed.
 *
 * Why nothing is lost. When the last writer of a terminal is gone, the kernel reports a hang-up together with what is
 * still queued, and the event loop takes a hang-up after a short read for the end. So we hold a descriptor of the slave
 * ourselves: no hang-up is ever reported while the master is read. When the leader has been reaped, the rest is read
 * directly until the kernel says that there is none: it looks for bytes on their way before it says so, which its
 * readiness does not.
 */
import { closeSync, constants as open, openSync, readSync } from "node:fs";
import { constants } from "node:os";
import { ReadStream } from "node:tty";
import { BoxError } from "@sand/protocol";
import { createInputWriter } from "./input-writer.ts";
import { type ForkedPty, type LoadPtyDeps, loadPtyAddon, type PtyAddon } from "./load-pty-addon.ts";
import type {
  TerminalBackend,
  TerminalEvents,
  TerminalExit,
  TerminalLaunch,
  TerminalPipe,
} from "./terminal-backend.ts";

/** Nothing is loaded before the first terminal. */
export function createNodePtyBackend(deps: LoadPtyDeps): TerminalBackend {
  let addon: PtyAddon | undefined;
  return {
    ...{ name: "node-pty", outlivesUs: false, findLeft: () => [] },
    spawn(launch, events) {
      addon ??= loadPtyAddon(deps);
      return spawnTerminal(addon, launch, events);
    },
  };
}

const accountUnchanged = -1;
const readBytes = 16 * 1024;
const drainMaxBytes = 256 * 1024;

function spawnTerminal(addon: PtyAddon, launch: TerminalLaunch, events: TerminalEvents): TerminalPipe {
  const [program = "", ...args] = launch.argv;
  const env = Object.entries(launch.env).map(([name, value]) => `${name}=${value}`);
  const { promise: reaped, resolve: onReaped } = Promise.withResolvers<TerminalExit>();
  const forked = refusing("no terminal could be opened", () =>
    addon.fork(
      ...([
        program,
        args,
        env,
        launch.cwd,
        launch.cols,
        launch.rows,
        accountUnchanged,
        accountUnchanged,
      ] as const),
      ...([true, "", (code: number, signal: number) => onReaped(toExit(code, signal))] as const),
    ),
  );
  const slave = holdSlave(forked);
  const master = new ReadStream(forked.fd);
  const input = createInputWriter(forked.fd);
  let isPaused = false;
  let isClosed = false;
  let isDraining = false;

  const onData = (bytes: Buffer): void => events.onData(bytes);
  master.on("data", onData);
  // The exit is told by the kernel's own means; what a read says afterwards adds nothing.
  master.on("error", () => close());

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    closeSync(slave);
    // The descriptor belongs to the stream; a write that is under way must not meet another file under its number.
    void input.close().then(() => master.destroy());
  }

  async function drain(): Promise<void> {
    isDraining = true;
    master.off("data", onData);
    master.pause();
    // More than the kernel holds of what the leader wrote; what others print after it is not waited for.
    for (let left = drainMaxBytes; left > 0 && !isClosed; ) {
      if (isPaused) await resumed();
      // What the stream has read already comes first.
      const bytes: Buffer | null = master.read() ?? readNow(forked.fd);
      if (bytes === null) return;
      left -= bytes.length;
      events.onData(bytes);
    }
  }

  let onResume: (() => void) | undefined;
  function resumed(): Promise<void> {
    return new Promise((resolve) => {
      onResume = resolve;
    });
  }

  function release(): void {
    onResume?.();
    onResume = undefined;
  }

  void reaped.then(async (exit) => {
    await drain();
    close();
    events.onExit(exit);
  });

  return {
    ...{ pid: forked.pid, started: Promise.resolve() },
    write: (bytes) => input.write(bytes),
    resize({ cols, rows }) {
      if (!isClosed) addon.resize(forked.fd, cols, rows, 0, 0);
    },
    pause() {
      isPaused = true;
      master.pause();
    },
    resume() {
      isPaused = false;
      if (!isDraining) master.resume();
      release();
    },
    close() {
      close();
      release();
    },
  };
}

function holdSlave(forked: ForkedPty): number {
  try {
    return openSync(forked.pty, open.O_RDWR | open.O_NOCTTY);
  } catch (error) {
    closeSync(forked.fd);
    process.kill(forked.pid, "SIGKILL");
    throw new BoxError("exec/spawn-failed", "the terminal can't be held open", { cause: error });
  }
}

/** Null when the terminal holds nothing more. */
function readNow(fd: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(readBytes);
  try {
    const length = readSync(fd, bytes);
    return length === 0 ? null : bytes.subarray(0, length);
  } catch {
    // Nothing is there (EAGAIN), or nobody (EIO).
    return null;
  }
}

function toExit(code: number, signal: number): TerminalExit {
  if (signal === 0) return { code, signal: null };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { code: null, signal: name ?? `SIG${signal}` };
}

function refusing<T>(message: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new BoxError("exec/spawn-failed", message, { cause: error });
  }
}
