/**
 * The terminals that run in a daemon of this machine, for who is about to end it. They are executions of its ledger
 * where it can, and its children alone where it can't; so it is asked both ways.
 */
import type { CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import { listTerminals, ptyServerHere } from "./pty-server.ts";

export interface RunningTerminal {
  readonly id: string;
  /** empty where the daemon doesn't say */
  readonly command: string;
}

/** as the daemon names the executions of terminals */
const executionPattern = /^terminal:(.+):[0-9a-f]{8}$/u;

/** How many of these executions are commands. */
export function countCommands(running: readonly string[]): number {
  return running.filter((executionId) => !executionPattern.test(executionId)).length;
}

/** `running`: the ids of all executions that run in the daemon here; undefined when it doesn't answer. */
export async function listRunningTerminals(
  context: CommandContext,
  running: readonly string[] | undefined,
): Promise<readonly RunningTerminal[]> {
  if (running === undefined) return [];
  const told = await askForTerminals(context);
  const known = new Set(told.map(({ id }) => id));
  const others = running.flatMap((executionId) => executionPattern.exec(executionId)?.[1] ?? []);
  return [...told, ...others.filter((id) => !known.has(id)).map((id) => ({ id, command: "" }))];
}

async function askForTerminals(context: CommandContext): Promise<readonly RunningTerminal[]> {
  try {
    const rows = await listTerminals(ptyServerHere(context));
    return rows.filter(({ state }) => state === "running").map(({ id, command }) => ({ id, command }));
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    // It doesn't answer there; its executions name those that outlive it.
    return [];
  }
}
