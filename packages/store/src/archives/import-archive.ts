/**
 * Makes a new agent of an archive, under a new id.
 *
 * All of it is made in a folder that isn't an agent's, read to the archive's end and put on disk; one rename then makes
 * it an agent. A failure, or a crash anywhere before, leaves nothing that a host would look at. Since nobody knows the
 * new id, this may be done while a host runs; the host takes the agent up when it is asked for it, or at its next start.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentTx } from "@sand/agent-core";
import { failpoint, type Logger, syncFolder } from "@sand/node-kit";
import { type AgentId, BoxError, type JsonObject } from "@sand/protocol";
import { agentsFolder } from "../agent-folders.ts";
import type { AgentWorkerPool } from "../blobs/agent-worker-pool.ts";
import { openAgentStore, storeFileName } from "../open-agent-store.ts";
import { openDatabase } from "../sqlite.ts";
import type { ArchiveHead } from "./archive-content.ts";
import type { ArchiveFacts } from "./offline-call.ts";
import { readArchive } from "./read-archive.ts";
import { createArchivedNumbers, createRestoreRows } from "./restore-rows.ts";
import { damaged, refused } from "./tar-member.ts";

export interface ImportArchiveOptions {
  readonly root: string;
  readonly file: string;
  /** nobody has it */
  readonly agentId: AgentId;
  readonly logger: Logger;
  readonly blobWorkers: AgentWorkerPool;
  /** what the roster shows of the agent; `stage` holds its files, `folder` is where they will be */
  summarize(given: { readonly tx: AgentTx; readonly stage: string; readonly folder: string }): JsonObject;
  /** another name than the archive's, written into the files of the stage */
  rename?(stage: string): void;
}

const agentsMax = 10_000;
const stagePrefix = "import-";
/** no import takes longer, in `ms`: a stage that is older was left by a killed one */
const stageAgeMaxMs = 24 * 3_600_000;

export async function importArchive(options: ImportArchiveOptions): Promise<ArchiveFacts> {
  const { root, agentId } = options;
  const agents = agentsFolder(root);
  mkdirSync(agents, { recursive: true, mode: 0o700 });
  if (readdirSync(agents).length >= agentsMax) throw refused("this data root holds as many agents as it may");
  removeLeftOver(join(root, "tmp"));
  const stage = join(root, "tmp", `${stagePrefix}${agentId}`);
  mkdirSync(stage, { recursive: true, mode: 0o700 });
  try {
    const facts = await fillStage(options, stage, join(agents, agentId));
    keepNewestEvent(join(stage, storeFileName));
    syncTree(stage);
    failpoint("import.staged");
    install(stage, join(agents, agentId));
    return facts;
  } catch (error) {
    rmSync(stage, { recursive: true, force: true });
    throw error;
  }
}

function removeLeftOver(folder: string): void {
  const oldestMs = Date.now() - stageAgeMaxMs;
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (!name.startsWith(stagePrefix)) continue;
    const stage = join(folder, name);
    const madeAtMs = statSync(stage, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (madeAtMs < oldestMs) rmSync(stage, { recursive: true, force: true });
  }
}

async function fillStage(
  options: ImportArchiveOptions,
  stage: string,
  folder: string,
): Promise<ArchiveFacts> {
  const { file, agentId, logger, blobWorkers } = options;
  const numbers = createArchivedNumbers();
  await using store = openAgentStore({
    directory: stage,
    agentId,
    seq: numbers,
    onCommitted: () => undefined,
    logger,
    blobWorkers,
  });
  const rows = createRestoreRows(store, agentId, numbers);
  let head: ArchiveHead | undefined;
  let files = 0;
  const sha256 = await readArchive(file, {
    head(found) {
      head = found;
    },
    rows: rows.take,
    file(path, content) {
      files += 1;
      writeInto(stage, path, content);
    },
  });
  if (head === undefined || !existsSync(join(stage, "profile.json"))) throw damaged("it has no profile");
  options.rename?.(stage);
  const counts = await rows.finish(head.ranBy, (tx) =>
    tx.setValue("summary", options.summarize({ tx, stage, folder })),
  );
  await store.settlePayloads();
  return { agentId: head.agentId, name: head.name, ...counts, files, sha256 };
}

/** Never over something that is there: a name twice, or a file where a folder should be, isn't ours. */
function writeInto(stage: string, path: string, content: Buffer): void {
  const target = join(stage, path);
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    writeFileSync(target, content, { mode: 0o600, flag: "wx", flush: true });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code === "EEXIST" || code === "ENOTDIR" || code === "EISDIR")
      throw refused("two of its files are in each other's way");
    throw error;
  }
}

/** Events serve clients that come back, and none was here. The newest one stays: numbers go on above it. */
function keepNewestEvent(path: string): void {
  const { connection, close } = openDatabase({ path, create: false });
  try {
    connection.exec(
      "DELETE FROM events WHERE seq < (SELECT max(seq) FROM events); DELETE FROM event_payloads",
    );
  } finally {
    close();
  }
}

function syncTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) syncTree(join(folder, entry.name));
  syncFolder(folder);
}

function install(stage: string, folder: string): void {
  if (existsSync(folder)) throw new BoxError("store/unavailable", "an agent has the new id already");
  renameSync(stage, folder);
  syncFolder(dirname(folder));
  syncFolder(dirname(stage));
}
