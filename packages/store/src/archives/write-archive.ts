/** Writes an agent into one archive as it is at one commit, while its host may run. The head apart, the same content is the same archive. */
import { createHash } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BoxError } from "@sand/protocol";
import { type AgentReading, openAgentReading } from "./agent-reading.ts";
import {
  type ArchiveHead,
  archiveFormat,
  archiveVersion,
  filesPrefix,
  headName,
  isArchivedPath,
  type ManifestMember,
  manifestName,
  rowsPrefix,
} from "./archive-content.ts";
import { archiveLimits } from "./archive-limits.ts";
import { archiveRows } from "./archive-rows.ts";
import { type ArchiveSink, createArchiveSink } from "./archive-sink.ts";
import type { ArchiveFacts } from "./offline-call.ts";
import { isMemberName, refused } from "./tar-member.ts";

export interface WriteArchiveOptions {
  /** the agent's folder */
  readonly folder: string;
  readonly agentId: string;
  readonly name: string;
  /** must not be there yet */
  readonly file: string;
  readonly nowMs: number;
}

export interface WrittenArchive {
  readonly bytes: number;
  readonly facts: ArchiveFacts;
}

export async function writeArchive(options: WriteArchiveOptions): Promise<WrittenArchive> {
  const { folder, agentId, name, file, nowMs } = options;
  if (existsSync(file)) {
    throw new BoxError("file/exists", `${file} is there already`, {
      hint: "name another file, or remove it",
    });
  }
  using reading = openAgentReading(folder);
  const sink = createArchiveSink(file);
  try {
    const head: ArchiveHead = {
      ...{ format: archiveFormat, version: archiveVersion, agentId, name, exportedAtMs: nowMs },
      ranBy: [...reading.ranBy(), { agentId, throughGeneration: newestGeneration(reading) }],
    };
    await sink.add(headName, toJson(head));
    const counts = await addRows(sink, reading);
    const files = await addFiles(sink, folder);
    const { members } = sink;
    const sha256 = contentHash(members);
    await sink.add(manifestName, toJson({ members: [...members] }));
    const bytes = await sink.finish();
    return { bytes, facts: { agentId, name, ...counts, files, sha256 } };
  } catch (error) {
    await sink.drop();
    throw error;
  }
}

/** Over everything but the head, which says when and from where. */
export function contentHash(members: readonly ManifestMember[]): string {
  const content = members.filter(({ name }) => name !== headName && name !== manifestName);
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

function newestGeneration(reading: AgentReading): number {
  let newest = 0;
  for (const { generation } of reading.turns(0)) newest = generation;
  return newest;
}

async function addRows(
  sink: ArchiveSink,
  reading: AgentReading,
): Promise<Pick<ArchiveFacts, "entries" | "turns" | "records">> {
  const counts = { entries: 0, turns: 0, records: 0 };
  let lines: string[] = [];
  let size = 0;
  let number = 0;
  const flush = async (): Promise<void> => {
    if (lines.length === 0) return;
    number += 1;
    const name = `${rowsPrefix}${String(number).padStart(6, "0")}.jsonl`;
    await sink.add(name, Buffer.from(`${lines.join("\n")}\n`));
    lines = [];
    size = 0;
  };
  for (const row of archiveRows(reading)) {
    if ("entry" in row) counts.entries += 1;
    if ("turn" in row) counts.turns += 1;
    if ("record" in row) counts.records += 1;
    const line = JSON.stringify(row);
    lines.push(line);
    size += line.length;
    if (size >= archiveLimits.rowsMemberBytes) await flush();
  }
  await flush();
  return counts;
}

async function addFiles(sink: ArchiveSink, folder: string): Promise<number> {
  const paths = listFiles(folder);
  let total = 0;
  for (const path of paths) {
    const content = readWhole(join(folder, path));
    if (content === undefined) continue;
    total += content.length;
    if (total > archiveLimits.filesMaxBytes) throw refused("the agent's folder holds too much");
    await sink.add(filesPrefix + path, content);
  }
  return paths.length;
}

/** Plain files below the folder, sorted. Links aren't followed: an archive holds what lies in the folder. */
function listFiles(folder: string): readonly string[] {
  const found: string[] = [];
  const visit = (below: string): void => {
    for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      if (!entry.isFile() || !isArchivedPath(path)) continue;
      if (path.length > archiveLimits.pathMaxChars || !isMemberName(filesPrefix + path))
        throw refused(`the name of ${JSON.stringify(path)} doesn't fit`);
      found.push(path);
      if (found.length > archiveLimits.filesMax) throw refused("the agent's folder holds too many files");
    }
  };
  visit("");
  return found.sort();
}

function readWhole(path: string): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    // Replaced or removed meanwhile.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    if (fstatSync(descriptor).size > archiveLimits.fileMaxBytes) throw refused(`${path} is too large`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function toJson(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}
