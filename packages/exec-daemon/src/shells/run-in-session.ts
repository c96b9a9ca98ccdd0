/**
 * Run: one command of a session, as an execution like any other.
 *
 * 1. What it begins with is, in this order: the daemon's clean environment, that of the login where one was asked for,
 *    the session's state, without the variables that an earlier command had from the server; then the server's own for
 *    this command, then the call's. As a state names its variables one by one, those that aren't the session's are left
 *    out of it, so the process simply keeps what it was started with.
 * 2. That it runs is on disk before it is started, and its state is taken once it has ended, by whichever daemon.
 * 3. Repeating a call finds the same execution, also when the session has moved on.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { BoxError, type Clock } from "@sand/protocol";
import { StartRequestSchema } from "@sand/protocol/exec";
import type { ShellsRunRequest, ShellsRunResponseSchema } from "@sand/protocol/exec-shells";
import { folderName } from "../ledger/execution-folder.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { validateStart } from "../processes/parse-start.ts";
import { createSettlingStart } from "../processes/settle-start.ts";
import type { Start, StartExtras } from "../processes/start.ts";
import type { LoginStates } from "./login-states.ts";
import { type ServerNamesDeps, serverNames, sessionMarkerName } from "./server-names.ts";
import type { CurrentRun, SessionRecord } from "./session-record.ts";
import { expectSession, type Sessions } from "./sessions.ts";
import { findShell, shellPrograms } from "./shell-kinds.ts";
import { digestRun, parseShellLabel, toShellLabels } from "./shell-label.ts";
import { shellLimits } from "./shell-limits.ts";
import { type ForeignNames, type ShellState, withoutVariables } from "./shell-state.ts";
import { descriptorsOf, writePrivately } from "./state-files.ts";
import { readBytes } from "./to-session.ts";

export interface RunDeps extends ServerNamesDeps {
  readonly sessions: Sessions;
  readonly ledger: Ledger;
  readonly start: Start;
  readonly logins: LoginStates;
  readonly clock: Clock;
  /** where a background command's output can be read */
  readonly terminalFileOf: (processId: string) => string;
}

type Answer = MessageInitShape<typeof ShellsRunResponseSchema>;
type Attempt = { readonly kind: "answer"; readonly answer: Answer } | { readonly kind: "busy" };

export function createRun(
  deps: RunDeps,
): (request: ShellsRunRequest, signal: AbortSignal) => Promise<Answer> {
  let waiting = 0;

  async function attempt(request: ShellsRunRequest): Promise<Attempt> {
    return await deps.sessions.alone(request.sessionId, async (found) => {
      const session = expectSession(found);
      if (isRepeat(deps, request)) return { kind: "answer", answer: await startIn(deps, session, request) };
      const isFree = request.background || deps.sessions.runningOf(session) === undefined;
      return isFree ? { kind: "answer", answer: await startIn(deps, session, request) } : { kind: "busy" };
    });
  }

  return async (request, signal) => {
    validateRun(request);
    const endMs = deps.clock.nowMs() + Math.min(request.waitMs, shellLimits.waitMaxMs);
    for (;;) {
      const tried = await attempt(request);
      if (tried.kind === "answer") return tried.answer;
      const leftMs = endMs - deps.clock.nowMs();
      if (leftMs <= 0 || waiting >= shellLimits.waitersMax || signal.aborted) throw busy();
      waiting += 1;
      try {
        await untilIdle(deps, request.sessionId, leftMs, signal);
      } finally {
        waiting -= 1;
      }
    }
  };
}

function busy(): BoxError {
  return new BoxError("exec/session-busy", "another command of this session runs", {
    hint: "wait for it, give wait_ms, or run this one in the background",
  });
}

/** Waits until nothing occupies the session, or the time is over. */
export async function untilIdle(
  { sessions }: Pick<RunDeps, "sessions">,
  sessionId: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  while (!deadline.aborted) {
    const running = await sessions.alone(sessionId, async (session) =>
      session === undefined ? undefined : sessions.runningOf(session),
    );
    if (running === undefined) return;
    const seen = running.changes.version;
    if (running.exit === undefined) await running.changes.after(seen, waitMs, deadline);
  }
}

function isRepeat({ ledger }: RunDeps, request: ShellsRunRequest): boolean {
  const known = ledger.find(request.processId);
  if (known === undefined) return false;
  const label = parseShellLabel(known.start.labels);
  if (label?.sessionId !== request.sessionId || label.digest !== digestRun(request))
    throw new BoxError("exec/key-conflict", "this process_id was started with another request");
  known.refresh();
  return known.claim !== undefined;
}

function validateRun(request: ShellsRunRequest): void {
  const { unset, conversationEnv, env } = request;
  if (request.command === "") throw new BoxError("exec/invalid", "there is no command");
  if (unset.length > shellLimits.unsetMax || unset.some((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name)))
    throw new BoxError("exec/invalid", "unset holds too many names, or one that no shell can use");
  if ([conversationEnv, env].some((map) => sessionMarkerName in map))
    throw new BoxError("exec/invalid", `${sessionMarkerName} is the daemon's own`);
}

async function startIn(deps: RunDeps, session: SessionRecord, request: ShellsRunRequest): Promise<Answer> {
  const { sessions, clock } = deps;
  const lineage = request.lineage ?? session.lineage;
  const foreign: ForeignNames = {
    server: serverNames(deps, request.conversationEnv, lineage.agentId),
    own: Object.keys(request.env),
  };
  const start = toStart(deps, session, request);
  validateStart(start);
  const known = isRepeat(deps, request);
  if (known) return await answerOf(deps, request, start, undefined);
  const before = session.state ?? (await beginWithLogin(deps, session));
  const name = folderName(request.processId);
  const folder = sessions.folderOf(session.sessionId);
  const current: CurrentRun = { processId: request.processId, saveFile: `${name}.save`, foreign };
  const [loadFile, saveFile] = [join(folder, `${name}.load`), join(folder, current.saveFile)];
  writePrivately(loadFile, planLoad(deps, { session, request, before, foreign }));
  if (!request.background) {
    writePrivately(saveFile, "");
    await sessions.put({ ...session, usedAtMs: clock.nowMs(), current });
  }
  try {
    return await answerOf(deps, request, start, {
      openFiles: [loadFile],
      ...(request.background ? {} : { saveFile }),
      shown: { command: request.command, cwd: readBytes(before?.cwd ?? session.cwd) },
    });
  } catch (error) {
    if (!request.background && deps.ledger.find(request.processId)?.claim === undefined)
      await sessions.put(session);
    throw error;
  } finally {
    // Whoever keeps the command has opened it by now; what isn't started is written anew.
    rmSync(loadFile, { force: true });
  }
}

async function beginWithLogin(deps: RunDeps, session: SessionRecord): Promise<ShellState | undefined> {
  if (!session.isLogin) return undefined;
  return { cwd: session.cwd, records: await deps.logins.read(session.shell) };
}

async function answerOf(
  deps: RunDeps,
  request: ShellsRunRequest,
  start: ReturnType<typeof toStart>,
  extras: StartExtras | undefined,
): Promise<Answer> {
  const settling = createSettlingStart((asked) => deps.start(asked, extras), deps.ledger);
  const { existing, execution, events } = await settling(start);
  const terminalFile = request.background ? deps.terminalFileOf(request.processId) : "";
  return {
    ...(existing === undefined ? {} : { existing }),
    ...(execution === undefined ? {} : { execution }),
    ...(events === undefined ? {} : { events }),
    terminalFile,
  };
}

function toStart(deps: RunDeps, session: SessionRecord, request: ShellsRunRequest) {
  const program = shellPrograms[session.shell];
  const argv = program.argv(findShell(session.shell), request.command, descriptorsOf(deps), false);
  const label = { sessionId: session.sessionId, digest: digestRun(request), detach: request.detach };
  const { processId, stdin, background, killMs, display, sandbox, settleMs } = request;
  return create(StartRequestSchema, {
    ...{ processId, stdin, background, killMs, display, settleMs },
    command: { case: "argv", value: { args: [...argv] } },
    env: {
      ...request.conversationEnv,
      ...request.env,
      // What is to outlive the session isn't found by it.
      ...(request.detach ? {} : { [sessionMarkerName]: session.sessionId }),
    },
    ...(sandbox === undefined ? {} : { sandbox }),
    lineage: request.lineage ?? session.lineage,
    labels: { ...toShellLabels(label) },
  });
}

interface Begin {
  readonly session: SessionRecord;
  readonly request: ShellsRunRequest;
  readonly before: ShellState | undefined;
  readonly foreign: ForeignNames;
}

function planLoad(deps: RunDeps, { session, request, before, foreign }: Begin): string {
  const given = new Set([...foreign.server, ...foreign.own]);
  const notTheirs = new Set([...given, ...request.unset]);
  // A state stands for all variables but those that are given, so what the process starts with goes first.
  const base = before === undefined ? [] : Object.keys(deps.policy.commandEnv);
  return shellPrograms[session.shell].loadText({
    records: before === undefined ? [] : withoutVariables(before, notTheirs),
    cwd: before?.cwd ?? session.cwd,
    unset: [...base, ...request.unset].filter((name) => !given.has(name)),
    saves: !request.background,
    keepErrexit: session.keepErrexit,
    descriptors: descriptorsOf(deps),
  });
}
