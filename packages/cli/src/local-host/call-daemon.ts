/**
 * One unary call to the execution daemon: a plain JSON post to it or to the gateway that relays, with the token in a header alone. What it
 * refuses becomes a `CommandFailure` in its own words; "not running" means that nobody answered, so that the call can
 * be made again.
 */
import { fieldsOf } from "../chat/feed-event.ts";
import { CommandFailure } from "../command-failure.ts";
import { exitNameOfStatus } from "../exit-codes.ts";
import { readBounded } from "../gateway/read-bounded.ts";

export interface DaemonCall {
  /** what the service's name follows */
  readonly base: string;
  readonly token: string;
  /** absent: the one of executions */
  readonly service?: "Control";
  readonly method:
    | "CloseStdin"
    | "Forget"
    | "List"
    | "ListeningPorts"
    | "Read"
    | "Signal"
    | "Start"
    | "Write";
  readonly body: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** what a daemon takes that was started by hand with nothing configured */
export const bareDaemonToken = "local";
const answerMaxBytes = 8 * 1024 * 1024;

export async function callDaemon(call: DaemonCall): Promise<Readonly<Record<string, unknown>>> {
  const { response, text } = await post(call);
  const answer = parseFields(text);
  if (response.ok) return answer;
  const failureCode = response.headers.get("x-sand-code");
  const message = typeof answer.message === "string" ? answer.message : `it answers HTTP ${response.status}`;
  const exit = isOfAbsence(failureCode) ? "notRunning" : exitNameOfStatus(response.status);
  throw new CommandFailure(exit, `the execution daemon: ${message}`, {
    ...(failureCode === null ? {} : { failureCode }),
    ...hintOf(response.status, answer.hint),
  });
}

const codesOfAbsence: ReadonlySet<string> = new Set(["box/unavailable", "host/shutting-down"]);

/** Whether a gateway that relays says that nobody answers behind it now, so that the call can be made again. */
export function isOfAbsence(failureCode: string | null): boolean {
  return failureCode !== null && codesOfAbsence.has(failureCode);
}

function hintOf(status: number, hint: unknown): { readonly hint?: string } {
  if (typeof hint === "string") return { hint };
  return status === 401 ? { hint: "is SAND_BOX_EXEC_DAEMON_AUTH_TOKEN that of another one?" } : {};
}

async function post(call: DaemonCall): Promise<{ readonly response: Response; readonly text: string }> {
  const timeout = AbortSignal.timeout(call.timeoutMs);
  try {
    const response = await fetch(`${call.base}/exec.v1.${call.service ?? "Processes"}/${call.method}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${call.token}` },
      body: JSON.stringify(call.body),
      signal: call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]),
      redirect: "error",
    });
    return { response, text: await readBounded(response, answerMaxBytes) };
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure("notRunning", "the execution daemon doesn't answer", { cause: error });
  }
}

function parseFields(text: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {};
  }
}
