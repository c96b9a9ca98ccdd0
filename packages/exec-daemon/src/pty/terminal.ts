/**
 * One terminal: the program's pseudoterminal, its last output, its screen, its size, and who may write.
 *
 * 1. Output goes to the ring first, then to the screen, then to whoever listens; all count the same offsets.
 * 2. At most one connection holds the lease. Only it writes, resizes and slows the terminal down.
 * 3. A size is applied before the next input, and several within a moment are one.
 * 4. Without a connection it lives as long as its policy says, and is called an orphan meanwhile.
 */
import type { Logger } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import type { CommandUser } from "../command-user.ts";
import { createIdleWatch } from "./idle-watch.ts";
import { createOutputRing, type OutputRing } from "./output-ring.ts";
import { ptyLimits } from "./pty-limits.ts";
import { createReadHolds } from "./read-holds.ts";
import type { ScreenPicture, Screens } from "./screens.ts";
import { endSession, signalForeground } from "./session-processes.ts";
import { createSizeKeeper } from "./size-keeper.ts";
import type {
  TerminalBackend,
  TerminalExit,
  TerminalLaunch,
  TerminalPipe,
  TerminalSize,
} from "./terminal-backend.ts";
import type { TerminalRow } from "./terminal-row.ts";
import { createWriterLease } from "./writer-lease.ts";

export type OnDisconnect = "keep" | "hup" | "kill";

export interface TerminalPlan {
  readonly id: string;
  readonly launch: TerminalLaunch;
  readonly user: CommandUser | undefined;
  /** what was asked for, for people */
  readonly command: readonly string[];
  readonly onDisconnect: OnDisconnect;
  readonly idleGraceMs: number;
  readonly createdAtMs: number;
}

export interface TerminalDeps {
  readonly backend: TerminalBackend;
  readonly screens: Screens;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onEnded: (terminal: Terminal) => void;
}

/** Somebody who looks on. It keeps its own place in the ring. */
export interface TerminalListener {
  readonly onOutput: () => void;
  readonly onResize: (size: TerminalSize, offset: number) => void;
  readonly onTitle: (title: string) => void;
  readonly onCwd: (cwd: string) => void;
  /** the lease is held by this listener, and whether anybody holds it */
  readonly onLease: (held: boolean, free: boolean) => void;
  /** somebody else took the lease */
  readonly onTakenOver: () => void;
  /** Input may be sent again. */
  readonly onDrained: () => void;
  readonly onExit: (exit: TerminalExit) => void;
}

export interface Terminal {
  readonly id: string;
  /** its name in the ledger, and the marker of all that runs there */
  readonly executionId: string;
  /** 0 until it is known */
  readonly pid: number;
  /** Resolves when the pid is known, or there will be none. */
  readonly started: Promise<void>;
  readonly ring: OutputRing;
  readonly size: TerminalSize;
  readonly exit: TerminalExit | undefined;
  readonly endedAtMs: number | undefined;
  readonly inputPendingBytes: number;
  readonly listeners: number;
  readonly isLeaseFree: boolean;
  describe(): TerminalRow;
  listen(listener: TerminalListener): { stop(): void };
  /** False when another holds it and `takeover` isn't given. */
  takeLease(listener: TerminalListener, acked: number, takeover: boolean): boolean;
  releaseLease(listener: TerminalListener): void;
  holdsLease(listener: TerminalListener): boolean;
  acknowledge(listener: TerminalListener, offset: number): void;
  write(bytes: Buffer): Promise<void>;
  resize(size: TerminalSize): void;
  /** Applies a size that waits. */
  settleSize(): void;
  picture(): Promise<ScreenPicture | undefined>;
  signal(name: NodeJS.Signals): boolean;
  /** Resolves when the program and all that it started have ended or been killed. */
  end(how: "hup" | "kill"): Promise<void>;
  /** Forgets the screen; only after the end. */
  dispose(): void;
}

export function openTerminal(deps: TerminalDeps, plan: TerminalPlan): Terminal {
  const { clock, log } = deps;
  const { id, launch, user } = plan;
  const { executionId } = launch;
  const ring = createOutputRing({ maxBytes: ptyLimits.ringMaxBytes, blockBytes: ptyLimits.ringBlockBytes });
  const listeners = new Set<TerminalListener>();
  const holds = createReadHolds(() => pipe);
  let title = "";
  let cwd = launch.cwd;
  let exit: TerminalExit | undefined;
  let endedAtMs: number | undefined;
  let pending = 0;

  const tell = (say: (listener: TerminalListener) => void): void => {
    for (const listener of [...listeners]) say(listener);
  };
  const lease = createWriterLease<TerminalListener>({
    end: () => ring.end,
    onShut: (isShut) => holds.set("acks", isShut),
    onChange: (holder) => tell((listener) => listener.onLease(holder === listener, holder === undefined)),
    onTaken: (from) => from.onTakenOver(),
  });
  const pipe: TerminalPipe = deps.backend.spawn(launch, { onData, onExit });
  const screen = deps.screens.open(id, launch, {
    onBehind: (isBehind) => holds.set("screen", isBehind),
    onTitle(next) {
      title = next;
      tell((listener) => listener.onTitle(next));
    },
    onCwd(next) {
      cwd = next;
      tell((listener) => listener.onCwd(next));
    },
    replay: () => ({
      ...{ size: size.current, offset: ring.start },
      bytes: ring.read(ring.start, ptyLimits.ringMaxBytes + ptyLimits.ringBlockBytes) ?? Buffer.alloc(0),
    }),
  });

  const size = createSizeKeeper({ cols: launch.cols, rows: launch.rows }, (next) => {
    if (exit !== undefined) return;
    pipe.resize(next);
    screen.resize(next);
    ring.markResize();
    tell((listener) => listener.onResize(next, ring.end));
  });

  const idle = createIdleWatch(plan.idleGraceMs, () => {
    log.info({ event: "pty.idle", terminal: plan.id }, "nobody came back to a terminal: it is ended");
    void end(plan.onDisconnect === "kill" ? "kill" : "hup");
  });

  function onData(bytes: Buffer, offset = ring.end): void {
    if (offset !== ring.end) {
      ring.jump(offset);
      screen.jump(offset);
    }
    ring.append(bytes);
    lease.update();
    // Whoever waits for an echo comes before the screen.
    tell((listener) => listener.onOutput());
    screen.write(bytes);
  }

  function onExit(how: TerminalExit): void {
    exit = how;
    endedAtMs = clock.nowMs();
    idle.set(false);
    size.close();
    lease.close();
    log.info({ event: "pty.ended", terminal: plan.id, pid: pipe.pid, ...how }, "a terminal has ended");
    tell((listener) => listener.onExit(how));
    deps.onEnded(terminal);
  }

  const watchIdle = (): void => idle.set(listeners.size === 0 && exit === undefined);

  async function end(how: "hup" | "kill"): Promise<void> {
    const hasEnded = (): boolean => exit !== undefined;
    await pipe.started;
    await endSession({ leader: pipe.pid, executionId, user, clock, how, hasEnded });
    if (hasEnded()) return;
    // What it still prints is of no use to anybody, and a reader that holds it up must not keep it.
    holds.drop();
    const untilMs = clock.nowMs() + ptyLimits.closeMaxMs;
    while (!hasEnded() && clock.nowMs() < untilMs) await clock.sleep(20);
    if (!hasEnded()) pipe.close();
  }

  const describe = (): TerminalRow => ({
    ...plannedRow(plan),
    ...{ pid: pipe.pid, cwd, title, ...size.current, offset: ring.end, backend: deps.backend.name },
    ...{ state: exit === undefined ? "running" : "ended", exit: exit ?? null, endedAtMs: endedAtMs ?? null },
    ...{ viewers: listeners.size, written: lease.holder !== undefined },
    orphan: listeners.size === 0 && exit === undefined,
  });

  const terminal: Terminal = {
    ...{ id, executionId, started: pipe.started, ring, end, settleSize: size.settle },
    get pid() {
      return pipe.pid;
    },
    get size() {
      return size.current;
    },
    get exit() {
      return exit;
    },
    get endedAtMs() {
      return endedAtMs;
    },
    get inputPendingBytes() {
      return pending;
    },
    get listeners() {
      return listeners.size;
    },
    get isLeaseFree() {
      return lease.holder === undefined;
    },
    describe,
    listen(listener) {
      listeners.add(listener);
      watchIdle();
      return {
        stop() {
          if (!listeners.delete(listener)) return;
          lease.release(listener);
          watchIdle();
        },
      };
    },
    takeLease: lease.take,
    releaseLease: lease.release,
    holdsLease: (listener) => lease.holder === listener,
    acknowledge: lease.acknowledge,
    async write(bytes) {
      if (exit !== undefined) throw new BoxError("terminal/ended", "the terminal has ended");
      size.settle();
      pending += bytes.length;
      try {
        await pipe.write(bytes);
      } finally {
        pending -= bytes.length;
        if (pending <= ptyLimits.inputResumeBytes) tell((listener) => listener.onDrained());
      }
    },
    resize(asked) {
      if (exit === undefined) size.wish(asked);
    },
    picture: () => screen.picture(),
    signal: (name) => exit === undefined && signalForeground(pipe.pid, name),
    dispose: () => screen.close(),
  };
  watchIdle();
  log.info({ event: "pty.started", terminal: id, backend: deps.backend.name }, "a terminal runs");
  return terminal;
}

function plannedRow({ id, command, onDisconnect, idleGraceMs, createdAtMs }: TerminalPlan) {
  return { id, command, onDisconnect, idleGraceMs, createdAtMs };
}
