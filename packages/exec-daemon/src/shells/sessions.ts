/**
 * The sessions of this daemon, each changed by one call at a time.
 *
 * The state that a command has left is taken when the session is next asked for: it waits in a file until then, so
 * neither a restart of the daemon nor an execution that was forgotten meanwhile loses it.
 */
import { readFileSync, rmSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createKeyedMutex, type Logger } from "@sand/node-kit";
import { BoxError, type Clock, invariant } from "@sand/protocol";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import {
  type CurrentRun,
  readSessions,
  type SessionRecord,
  sessionFolder,
  writeSession,
} from "./session-record.ts";
import { shellLimits } from "./shell-limits.ts";
import { keepState, type ParsedState, parseState } from "./shell-state.ts";

export interface Sessions {
  /** Runs work on one session alone; what it gets has the state of every command that has ended. */
  alone<T>(sessionId: string, work: (session: SessionRecord | undefined) => Promise<T>): Promise<T>;
  /** Replaces the record; to be called inside `alone`. */
  put(session: SessionRecord): Promise<void>;
  /** Forgets it; to be called inside `alone`. */
  remove(sessionId: string): Promise<void>;
  ids(): readonly string[];
  folderOf(sessionId: string): string;
  /** The execution that occupies the session, when it still runs. */
  runningOf(session: SessionRecord): TrackedExecution | undefined;
}

export interface SessionsDeps {
  readonly dataRoot: string;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
}

export function openSessions(deps: SessionsDeps): Sessions {
  const { dataRoot, ledger } = deps;
  const records = new Map<string, SessionRecord>();
  const oneByOne = createKeyedMutex();
  const folderOf = (sessionId: string): string => sessionFolder(dataRoot, sessionId);
  for (const record of readSessions(dataRoot, (folder, err) =>
    deps.log.error({ event: "shells.damaged", folder, err }, "a session's folder can't be read"),
  ))
    records.set(record.sessionId, record);

  function runningOf({ current }: SessionRecord): TrackedExecution | undefined {
    if (current === undefined) return undefined;
    const execution = ledger.find(current.processId);
    execution?.refresh();
    // Without a claim nothing of it runs, and a repeat of its call starts it anew.
    return execution?.claim !== undefined && execution.exit === undefined ? execution : undefined;
  }

  async function put(session: SessionRecord): Promise<void> {
    await writeSession(folderOf(session.sessionId), session);
    records.set(session.sessionId, session);
  }

  async function collect(session: SessionRecord): Promise<SessionRecord> {
    const { current, ...rest } = session;
    if (current === undefined || runningOf(session) !== undefined) return session;
    const saveFile = join(folderOf(session.sessionId), current.saveFile);
    const wasStarted = ledger.find(current.processId)?.claim !== undefined;
    const left = readLeft(saveFile);
    const collected = left.kind === "none" && !wasStarted ? rest : withLeft(rest, current, left);
    await put(collected);
    rmSync(saveFile, { force: true });
    return collected;
  }

  return {
    ...{ put, folderOf, runningOf },
    alone: (sessionId, work) =>
      oneByOne(sessionId, async () => {
        const session = records.get(sessionId);
        return await work(session === undefined ? undefined : await collect(session));
      }),
    async remove(sessionId) {
      records.delete(sessionId);
      await rm(folderOf(sessionId), { recursive: true, force: true });
    },
    ids: () => [...records.keys()],
  };
}

function withLeft(
  session: SessionRecord,
  { processId, foreign }: CurrentRun,
  left: ParsedState,
): SessionRecord {
  if (left.kind === "none") return { ...session, last: { processId, stateKept: false, reason: left.reason } };
  const state = keepState(session.state, left.state, foreign);
  return { ...session, state, last: { processId, stateKept: true, reason: "" } };
}

function readLeft(path: string): ParsedState {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > shellLimits.stateMaxBytes) return { kind: "none", reason: "its state is too large" };
  return parseState(size === 0 ? "" : readFileSync(path, "latin1"));
}

export function expectSession(session: SessionRecord | undefined): SessionRecord {
  if (session === undefined) throw new BoxError("exec/unknown-session", "no session has this id");
  invariant(session.version === 1, "a session's record is of the version that we write");
  return session;
}
