/**
 * The file of one agent's journal, `agent-transcripts/<id>/<id>.jsonl`, and the sidecar that says how it is kept.
 *
 * It is written at a place that the caller names, never just at its end: what a dead process or somebody else left
 * behind that place is compared or cut off. A write that fails is cut off again, so that no half line stays.
 */
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syncFolder } from "@sand/node-kit";
import type { AgentId } from "@sand/protocol";

export interface JournalFile {
  sizeBytes(): number;
  /** changes with every write of anybody */
  identity(): string;
  /** as many of the bytes as there are */
  read(from: number, bytes: number): Buffer;
  /** Makes the bytes stand at `at`, and nothing behind them; durable when it returns. */
  write(at: number, bytes: Buffer): void;
  sync(): void;
  truncate(bytes: number): void;
  close(): void;
}

export function transcriptsFolder(root: string): string {
  return join(root, "agent-transcripts");
}

export function journalFolder(root: string, agentId: AgentId): string {
  return join(transcriptsFolder(root), agentId);
}

export function journalPath(root: string, agentId: AgentId): string {
  return join(journalFolder(root, agentId), `${agentId}.jsonl`);
}

const modeFileName = ".journal-mode";
/** lines are appended in the order of the commits, and a line never changes */
const journalMode = "journal\n";

/** The file as it is; nothing when there is none, so that an agent without a turn has no empty one. */
export function openJournal(root: string, agentId: AgentId): JournalFile | undefined {
  const path = journalPath(root, agentId);
  return existsSync(path) ? wrap(openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)) : undefined;
}

export function makeJournal(root: string, agentId: AgentId): JournalFile {
  const folder = journalFolder(root, agentId);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = wrap(openSync(journalPath(root, agentId), flags, 0o600));
  try {
    keepMode(folder);
    for (const made of [folder, transcriptsFolder(root), root]) syncFolder(made);
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Readers look at it before the file; a wrong one is put right whenever the journal is written. */
export function keepMode(folder: string): void {
  const path = join(folder, modeFileName);
  if (readMode(path) !== journalMode) writeFileSync(path, journalMode, { mode: 0o600 });
}

function readMode(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Absent or unreadable: writing it tells what is wrong.
    return "";
  }
}

function wrap(file: number): JournalFile {
  const sizeBytes = (): number => fstatSync(file).size;

  function truncate(bytes: number): void {
    ftruncateSync(file, bytes);
  }

  return {
    sizeBytes,
    identity() {
      const { ino, size, mtimeNs } = fstatSync(file, { bigint: true });
      return `${ino}:${size}:${mtimeNs}`;
    },
    read(from, bytes) {
      const buffer = Buffer.alloc(bytes);
      let filled = 0;
      while (filled < bytes) {
        const got = readSync(file, buffer, filled, bytes - filled, from + filled);
        if (got === 0) break;
        filled += got;
      }
      return buffer.subarray(0, filled);
    },
    write(at, bytes) {
      try {
        truncate(at);
        let written = 0;
        while (written < bytes.length) {
          written += writeSync(file, bytes, written, bytes.length - written, at + written);
        }
        fdatasyncSync(file);
      } catch (error) {
        cutQuietly(file, at);
        throw error;
      }
    },
    sync: () => fdatasyncSync(file),
    truncate,
    close: () => closeSync(file),
  };
}

function cutQuietly(file: number, at: number): void {
  try {
    ftruncateSync(file, at);
  } catch {
    // The write's own failure is told; what is left behind is noticed and cut off by the next one.
  }
}
