/** Puts session shells together: sessions, their verbs, tmux, and the files of background commands. */
import { resolve } from "node:path";
import type { ConnectRouter } from "@connectrpc/connect";
import { type Logger, type Scope, systemClock } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { Shells, type ShellsCreateRequest, Tmux } from "@sand/protocol/exec-shells";
import { isBeneath } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { isFolder } from "../processes/is-folder.ts";
import type { Start } from "../processes/start.ts";
import { endProcesses } from "./end-session.ts";
import { createLoginStates } from "./login-states.ts";
import { createRun, untilIdle } from "./run-in-session.ts";
import type { ServerNamesDeps } from "./server-names.ts";
import type { SessionRecord } from "./session-record.ts";
import { expectSession, openSessions, type Sessions } from "./sessions.ts";
import { findShell, installedShells, parseShellKind } from "./shell-kinds.ts";
import { digestOf } from "./shell-label.ts";
import { shellLimits } from "./shell-limits.ts";
import { createTerminalFiles } from "./terminal-files.ts";
import { createTmux } from "./tmux-sessions.ts";
import { toSession } from "./to-session.ts";

export interface OpenedShells {
  /** Hears of each execution that came to run. */
  onStarted(execution: TrackedExecution): void;
  /** Binds the services; all that runs in a session is started by `start`. */
  register(router: ConnectRouter, start: Start): void;
}

export interface OpenShellsDeps {
  readonly dataRoot: string;
  readonly terminalsRoot: string;
  readonly policy: BoxPolicy;
  readonly environment: ServerNamesDeps["environment"];
  readonly ledger: Ledger;
  readonly scope: Scope;
  readonly log: Logger;
}

export function openShells(deps: OpenShellsDeps): OpenedShells {
  const { policy, ledger, scope, log, dataRoot, environment } = deps;
  const clock = systemClock;
  const sessions = openSessions({ dataRoot, ledger, clock, log });
  const run = (name: string, work: (signal: AbortSignal) => Promise<void>): void => scope.run(name, work);
  const files = createTerminalFiles({ folder: deps.terminalsRoot, ledger, clock, log, run });
  files.adopt();
  const ending = { ledger, clock, user: policy.user };

  async function end(sessionId: string) {
    return await sessions.alone(sessionId, async (session) => {
      if (session === undefined) return { existed: false };
      const { endedProcessIds, detachedProcessIds } = await endProcesses(ending, sessionId);
      await sessions.remove(sessionId);
      return {
        existed: true,
        endedProcessIds: [...endedProcessIds],
        detachedProcessIds: [...detachedProcessIds],
      };
    });
  }

  async function endIdle(): Promise<void> {
    const beforeMs = clock.nowMs() - shellLimits.idleMaxMs;
    for (const id of sessions.ids()) {
      const isIdle = await sessions.alone(
        id,
        async (session) =>
          session !== undefined && session.usedAtMs < beforeMs && sessions.runningOf(session) === undefined,
      );
      if (isIdle) await end(id);
    }
  }

  async function show(sessionId: string) {
    return await sessions.alone(sessionId, async (found) => {
      const session = expectSession(found);
      return toSession(session, sessions.runningOf(session)?.start.executionId);
    });
  }

  return {
    onStarted: files.follow,
    register(router, start) {
      const shared = { policy, environment, ledger, start, clock };
      const logins = createLoginStates({ ...shared, dataRoot, log });
      const runIn = createRun({ ...shared, sessions, logins, terminalFileOf: files.pathOf });
      router.service(Shells, {
        create: async (request) => {
          await endIdle();
          return await createSession({ sessions, policy }, request);
        },
        run: (request, context) => runIn(request, context.signal),
        get: async ({ sessionId, waitMs }, context) => {
          if (waitMs > 0)
            await untilIdle({ sessions }, sessionId, Math.min(waitMs, shellLimits.waitMaxMs), context.signal);
          return { session: await show(sessionId) };
        },
        list: async () => ({
          sessions: await Promise.all(sessions.ids().map(show)),
          shells: [...installedShells()],
          terminalsDirectory: files.folder,
        }),
        end: ({ sessionId }) => end(sessionId),
      });
      router.service(Tmux, createTmux({ dataRoot, ledger, start }));
    },
  };
}

async function createSession(
  { sessions, policy }: { readonly sessions: Sessions; readonly policy: BoxPolicy },
  request: ShellsCreateRequest,
) {
  const { sessionId, login, keepErrexit } = request;
  if (sessionId === "" || sessionId.length > shellLimits.sessionIdMaxChars || sessionId.includes("\0"))
    throw new BoxError("exec/invalid", "session_id is empty or too long");
  const shell = parseShellKind(request.shell);
  findShell(shell);
  const cwd = resolveFolder(policy, request.cwd);
  const lineage = { agentId: request.lineage?.agentId ?? "", turnId: request.lineage?.turnId ?? "" };
  const digest = digestOf([sessionId, shell, cwd, login, keepErrexit, lineage]);
  return await sessions.alone(sessionId, async (known) => {
    if (known !== undefined) {
      if (known.digest !== digest)
        throw new BoxError("exec/key-conflict", "this session_id was made with another request");
      return { existing: true, session: toSession(known, sessions.runningOf(known)?.start.executionId) };
    }
    if (sessions.ids().length >= shellLimits.sessionsMax)
      throw new BoxError("exec/too-many", `there are ${shellLimits.sessionsMax} sessions already`, {
        hint: "end one that isn't needed any more",
      });
    const nowMs = systemClock.nowMs();
    const session: SessionRecord = {
      ...{ version: 1, sessionId, digest, shell, cwd, isLogin: login, keepErrexit, lineage },
      ...{ createdAtMs: nowMs, usedAtMs: nowMs },
    };
    await sessions.put(session);
    return { existing: false, session: toSession(session, undefined) };
  });
}

/** As bytes; what an enclosed command sees under `/tmp` lies elsewhere for us, so there its own shell finds out. */
function resolveFolder(policy: BoxPolicy, asked: string): string {
  const path = resolve(policy.workspaceRoot, asked);
  const isElsewhere = policy.decision.kind === "enclose" && isBeneath(path, "/tmp");
  if (asked.includes("\0") || !(isElsewhere || isFolder(path)))
    throw new BoxError("exec/invalid", "the folder does not exist");
  return Buffer.from(path, "utf8").toString("latin1");
}
