/**
 * One session on disk: a folder with `session.json`, and with what its running command reads and writes its state by.
 * The command that runs is noted before it is started, so that a daemon after this one knows whose end to wait for.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";
import { folderName } from "../ledger/execution-folder.ts";
import type { ShellKind } from "./shell-kinds.ts";
import type { ForeignNames, ShellState } from "./shell-state.ts";

export interface SessionRecord {
  readonly version: 1;
  readonly sessionId: string;
  /** of the request that made it */
  readonly digest: string;
  readonly shell: ShellKind;
  /** where its first command begins, as commands find it */
  readonly cwd: string;
  readonly isLogin: boolean;
  readonly keepErrexit: boolean;
  readonly lineage: { readonly agentId: string; readonly turnId: string };
  readonly createdAtMs: number;
  readonly usedAtMs: number;
  /** absent until a command has left one */
  readonly state?: ShellState;
  readonly current?: CurrentRun;
  readonly last?: LastRun;
}

export interface CurrentRun {
  readonly processId: string;
  /** the file, in the session's folder, that its shell writes to */
  readonly saveFile: string;
  readonly foreign: ForeignNames;
}

export interface LastRun {
  readonly processId: string;
  readonly stateKept: boolean;
  readonly reason: string;
}

const recordFile = "session.json";

export const sessionsFolder = (dataRoot: string): string => join(dataRoot, "shells");

export function sessionFolder(dataRoot: string, sessionId: string): string {
  return join(sessionsFolder(dataRoot), folderName(sessionId));
}

export async function writeSession(folder: string, record: SessionRecord): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await writeFileAtomic(join(folder, recordFile), JSON.stringify(record));
}

/** Every session that an earlier daemon has left; a folder that can't be read is given to `onDamage` and stays. */
export function readSessions(
  dataRoot: string,
  onDamage: (folder: string, error: unknown) => void,
): readonly SessionRecord[] {
  const root = sessionsFolder(dataRoot);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  return readdirSync(root).flatMap((name) => {
    try {
      // Written whole and by ourselves, so reading it is its parser.
      return [JSON.parse(readFileSync(join(root, name, recordFile), "utf8")) as SessionRecord];
    } catch (error) {
      // Without the record nothing was ever answered about it.
      if (error instanceof Error && "code" in error && error.code === "ENOENT")
        rmSync(join(root, name), { recursive: true, force: true });
      else onDamage(name, error);
      return [];
    }
  });
}
