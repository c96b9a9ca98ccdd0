/**
 * Terminals by node-pty's addon, in this process. They end with it: the kernel hangs up when the master is closed.
 *
 * Why nothing is lost. When the last writer of a terminal is gone, the kernel reports a hang-up together with what is
 * still queued, and the event loop takes a hang-up after a short read for the end. So we hold a descriptor of the slave
 * ourselves: no hang-up is ever reported while the master is read. When the leader has been reaped, reading goes on
 * until two whole turns of the loop brought nothing, and only then both are closed.
 */
import { closeSync, constants as open, openSync } from "node:fs";
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
    name: "node-pty",
    spawn(launch, events) {
      addon ??= loadPtyAddon(deps);
      return spawnTerminal(addon, launch, events);
    },
  };
}

const accountUnchanged = -1;

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
  let received = 0;
  let isPaused = false;
  let isClosed = false;

  master.on("data", (bytes: Buffer) => {
    received += bytes.length;
    events.onData(bytes);
  });
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
    for (let quietTurns = 0; quietTurns < 2 && !isClosed; ) {
      const before = received;
      await nextTurn();
      quietTurns = received === before && !isPaused ? quietTurns + 1 : 0;
      if (isPaused) await resumed();
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
    pid: forked.pid,
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
      master.resume();
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

/** One full round of the event loop with its look at the descriptors in it. */
async function nextTurn(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
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
