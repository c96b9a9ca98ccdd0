/**
 * One command in the box, over the daemon's native service.
 *
 * The command has an id of ours and outlives the daemon, so each call can be made again: after an outage the daemon is
 * looked for anew (it comes back on another port) and asked from where we were. Reading is by long polls, which need
 * no stream to be held.
 */

import { setTimeout as delay } from "node:timers/promises";
import { fieldsOf } from "../chat/feed-event.ts";
import { CommandFailure } from "../command-failure.ts";
import { callDaemon, type DaemonCall } from "../local-host/call-daemon.ts";
import { noDaemon } from "../local-host/no-daemon.ts";
import { type ExecEvent, readEvent } from "./exec-event.ts";

export interface BoxCommand {
  readonly argv: readonly string[];
  /** the only word of `argv` is a text for the shell */
  readonly shell: boolean;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: boolean;
  /** 0: no limit */
  readonly killMs: number;
}

export type SignalScope = "SIGNAL_SCOPE_GROUP" | "SIGNAL_SCOPE_TREE";

export interface BoxExecution {
  readonly id: string;
  /** every event from the beginning until the command is over and its output read */
  events(): AsyncGenerator<ExecEvent, void, undefined>;
  /** false when the command takes no more */
  write(offset: number, bytes: Uint8Array): Promise<boolean>;
  closeStdin(): Promise<void>;
  signal(name: NodeJS.Signals, scope: SignalScope, killAfterMs?: number): Promise<void>;
  /** removes what the daemon keeps of it */
  forget(): Promise<void>;
}

export interface DaemonAddress {
  /** what the service's name follows; the daemon's own port, or the gateway that relays to it */
  readonly base: string;
  readonly token: string;
}

export interface BoxExecutionDeps {
  /** where the daemon is now; `undefined` while none runs */
  readonly locate: () => DaemonAddress | undefined;
  readonly onOutage: () => void;
  /** aborted by who doesn't want to wait any more; the command goes on */
  readonly signal: AbortSignal;
}

const callTimeoutMs = 60_000;
const readWaitMs = 20_000;
const pageMaxBytes = 1024 * 1024;
/** how long a daemon may be away before we give up; the command goes on */
const outageMaxMs = 45_000;
const retryEveryMs = 200;

type Call = (
  method: DaemonCall["method"],
  body: Readonly<Record<string, unknown>>,
) => Promise<Readonly<Record<string, unknown>>>;

/** Throws when there is no daemon, and what the daemon says when the command can't be run. */
export async function startInBox(command: BoxCommand, deps: BoxExecutionDeps): Promise<BoxExecution> {
  const processId = `sand-exec-${crypto.randomUUID()}`;
  const call = createPatientCall(deps);
  const [text = ""] = command.argv;
  await call("Start", {
    processId,
    ...(command.shell ? { shell: text } : { argv: { args: command.argv } }),
    cwd: command.cwd,
    env: command.env,
    stdin: command.stdin,
    killMs: String(command.killMs),
  });
  return {
    id: processId,
    events: () => readEvents(call, processId),
    write: async (offset, bytes) => {
      const data = Buffer.from(bytes).toString("base64");
      const { state } = await call("Write", { processId, offset: String(offset), data });
      return state === "STDIN_STATE_ACCEPTED";
    },
    closeStdin: async () => void (await call("CloseStdin", { processId })),
    signal: async (name, scope, killAfterMs) => {
      await call("Signal", { processId, name, scope, ...(killAfterMs === undefined ? {} : { killAfterMs }) });
    },
    forget: async () => void (await call("Forget", { processId })),
  };
}

async function* readEvents(call: Call, processId: string): AsyncGenerator<ExecEvent, void, undefined> {
  let cursor: Readonly<Record<string, unknown>> = {};
  for (;;) {
    const body = { processId, after: cursor, waitMs: readWaitMs, maxBytes: pageMaxBytes };
    const page = await call("Read", body);
    const rows: readonly unknown[] = Array.isArray(page.events) ? page.events : [];
    const known = Number(cursor.seq ?? 0);
    for (const row of rows) {
      const event = readEvent(row);
      // Each page opens with "started", also for one who has had it.
      if (event !== undefined && (event.kind !== "started" || known === 0)) yield event;
    }
    cursor = fieldsOf(page.cursor);
    if (page.ended === true) return;
  }
}

function createPatientCall({ locate, onOutage, signal }: BoxExecutionDeps): Call {
  let answered = false;
  return async (method, body) => {
    let brokenSinceMs: number | undefined;
    for (;;) {
      try {
        const answer = await callDaemon({
          ...need(locate()),
          method,
          body,
          timeoutMs: callTimeoutMs,
          signal,
        });
        answered = true;
        return answer;
      } catch (error) {
        if (signal.aborted) throw new CommandFailure("interrupted", "left; the command may go on");
        const isOutage = error instanceof CommandFailure && error.exit === "notRunning";
        // Who never answered isn't waited for.
        if (!isOutage || !answered) throw error;
        if (brokenSinceMs === undefined) onOutage();
        brokenSinceMs ??= performance.now();
        if (performance.now() - brokenSinceMs > outageMaxMs) throw error;
        await delay(retryEveryMs);
      }
    }
  };
}

function need(address: DaemonAddress | undefined): DaemonAddress {
  if (address !== undefined) return address;
  throw noDaemon();
}
