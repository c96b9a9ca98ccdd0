/**
 * What the start files of a login shell leave in the environment, read once and kept for a while. They run as an
 * execution like any other, with nothing to read and a deadline, so that they can neither eat a command's input nor
 * hold it up; what they print goes nowhere.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { createKeyedMutex, type Logger } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import { SignalRequestSchema, SignalScope, StartRequestSchema } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { createSignal } from "../processes/signal.ts";
import type { Start } from "../processes/start.ts";
import { type ServerNamesDeps, serverNames } from "./server-names.ts";
import { sessionsFolder } from "./session-record.ts";
import { findShell, type ShellKind, shellPrograms } from "./shell-kinds.ts";
import { shellLimits } from "./shell-limits.ts";
import { parseState, type StateRecord } from "./shell-state.ts";
import { descriptorsOf, writePrivately } from "./state-files.ts";

export interface LoginStates {
  /** The exported variables; none when the start files don't come to an end. */
  read(shell: ShellKind): Promise<readonly StateRecord[]>;
}

export interface LoginDeps extends ServerNamesDeps {
  readonly dataRoot: string;
  readonly ledger: Ledger;
  readonly start: Start;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Kept {
  readonly key: string;
  readonly atMs: number;
  readonly records: readonly StateRecord[];
}

export function createLoginStates(deps: LoginDeps): LoginStates {
  const kept = new Map<ShellKind, Kept>();
  const oneByOne = createKeyedMutex();

  return {
    read: (shell) =>
      oneByOne(shell, async () => {
        const key = keyOf(deps, shell);
        const known = kept.get(shell);
        const nowMs = deps.clock.nowMs();
        if (known?.key === key && nowMs - known.atMs < shellLimits.loginMaxAgeMs) return known.records;
        const records = await readOnce(deps, shell);
        kept.set(shell, { key, atMs: nowMs, records });
        return records;
      }),
  };
}

/** Changes with the files, and with what they start from. */
function keyOf({ policy }: LoginDeps, shell: ShellKind): string {
  const files = shellPrograms[shell].loginFiles.map((file) => {
    const facts = statSync(resolve(policy.home, file), { throwIfNoEntry: false });
    return facts === undefined ? "" : `${facts.ino}:${facts.size}:${facts.mtimeMs}`;
  });
  return JSON.stringify([files, policy.commandEnv]);
}

async function readOnce(deps: LoginDeps, shell: ShellKind): Promise<readonly StateRecord[]> {
  const processId = `shell-login:${shell}:${randomBytes(6).toString("hex")}`;
  const descriptors = descriptorsOf(deps);
  const program = shellPrograms[shell];
  const folder = sessionsFolder(deps.dataRoot);
  const name = `.login-${randomBytes(6).toString("hex")}`;
  const [loadFile, saveFile] = [join(folder, `${name}.load`), join(folder, `${name}.save`)];
  try {
    const plan = { records: [], cwd: undefined, unset: [], saves: true, keepErrexit: false, descriptors };
    writePrivately(loadFile, program.loadText(plan));
    writePrivately(saveFile, "");
    const args = [...program.argv(findShell(shell), ":", descriptors, true)];
    const request = create(StartRequestSchema, { processId, command: { case: "argv", value: { args } } });
    const shown = { command: "", cwd: "" };
    await deps.start(request, { openFiles: [loadFile], saveFile, shown });
    await untilOver(deps, processId);
    const parsed = parseState(readFileSync(saveFile, "latin1"));
    if (parsed.kind === "none") {
      deps.log.warn(
        { event: "shells.login-lost", shell, reason: parsed.reason },
        "a login left no environment",
      );
      return [];
    }
    const foreign = new Set(serverNames(deps, {}, ""));
    return parsed.state.records.filter((record) => isExported(record) && !foreign.has(record.name));
  } finally {
    for (const path of [loadFile, saveFile]) rmSync(path, { force: true });
  }
}

/** Ends it when it takes too long, and forgets it. */
async function untilOver(deps: LoginDeps, processId: string): Promise<void> {
  const execution = deps.ledger.find(processId);
  if (execution === undefined) return;
  await untilClosed(execution, shellLimits.loginMaxMs);
  if (execution.exit === undefined) {
    const signal = createSignal({ ledger: deps.ledger, clock: deps.clock, run: () => undefined });
    signal(create(SignalRequestSchema, { processId, name: "SIGKILL", scope: SignalScope.TREE }));
    await untilClosed(execution, shellLimits.endMaxMs);
  }
  if (execution.closed !== undefined) await deps.ledger.remove(execution);
}

async function untilClosed(execution: TrackedExecution, maxMs: number): Promise<void> {
  const deadline = AbortSignal.timeout(maxMs);
  while (execution.closed === undefined && !deadline.aborted)
    await execution.changes.after(execution.changes.version, maxMs, deadline);
}

function isExported({ kind, code }: StateRecord): boolean {
  return kind === "variable" && /^(?:export |(?:declare|typeset) -[A-Za-z]*x)/u.test(code);
}
