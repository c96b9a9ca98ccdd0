/**
 * A folder of its own for one test or one proof, removed at the end whatever happened in it.
 *
 * It lies under the system's temp folder with a name that says who made it, so that a leftover can be traced.
 */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempFolder extends AsyncDisposable {
  readonly path: string;
  remove(): Promise<void>;
}

/** a folder that a dying process still writes to can't be removed at the first try */
const removeTriesMax = 5;

export async function createTempFolder(label: string): Promise<TempFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), `sand-${label}-`)));
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: removeTriesMax, retryDelay: 50 });
  return { path, remove, [Symbol.asyncDispose]: remove };
}
