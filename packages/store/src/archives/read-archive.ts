/**
 * Reads an archive member by member. Whatever the file holds, no more than one member is in memory, nothing is made of
 * a member before its place and name are right, and the end tells whether all of them are what was written.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { BoxError } from "@sand/protocol";
import {
  type ArchiveHead,
  archiveFormat,
  archiveVersion,
  filesPrefix,
  headName,
  isArchivedPath,
  type ManifestMember,
  manifestName,
  parseRanBy,
  rowsPrefix,
} from "./archive-content.ts";
import { archiveLimits } from "./archive-limits.ts";
import { blockBytes, damaged, decodeHeader, paddingOf, refused } from "./tar-member.ts";
import { contentHash } from "./write-archive.ts";

export interface ArchiveHandler {
  head(head: ArchiveHead): void;
  rows(content: Buffer): Promise<void>;
  /** `path` is below the agent's folder */
  file(path: string, content: Buffer): void;
}

/** Returns the content's hash. Throws `archive/…` when the archive isn't whole, isn't ours, or isn't harmless. */
export async function readArchive(file: string, handler: ArchiveHandler): Promise<string> {
  const source = createReadStream(file, { highWaterMark: 262_144 });
  const unpacked = createGunzip();
  source.on("error", (error) => unpacked.destroy(error));
  source.pipe(unpacked);
  const bytes = createByteReader(unpacked, () => source.bytesRead);
  try {
    return await readMembers(bytes, handler);
  } catch (error) {
    throw translate(error);
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

async function readMembers(bytes: ByteReader, handler: ArchiveHandler): Promise<string> {
  const members: ManifestMember[] = [];
  const order = createOrder(handler);
  for (;;) {
    const header = decodeHeader(await bytes.take(blockBytes));
    if (header === undefined) throw damaged("it ends before its list of contents");
    if (members.length >= archiveLimits.membersMax) throw refused("it holds too many members");
    const { name } = header;
    const content = await bytes.take(header.bytes);
    const padding = await bytes.take(paddingOf(header.bytes));
    if (padding.some((byte) => byte !== 0)) throw damaged("a member is followed by something else");
    if (name === manifestName) {
      compare(readManifest(content), members);
      await expectEnd(bytes);
      return contentHash(members);
    }
    await order.take(name, content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    members.push({ name, bytes: content.length, sha256 });
  }
}

/** The members that may come, in their order; each name once. */
function createOrder(handler: ArchiveHandler): { take(name: string, content: Buffer): Promise<void> } {
  const seen = new Set<string>();
  let rows = 0;
  let files = 0;
  let filesBytes = 0;

  function takeFile(path: string, content: Buffer): void {
    files += 1;
    filesBytes += content.length;
    if (content.length > archiveLimits.fileMaxBytes || filesBytes > archiveLimits.filesMaxBytes)
      throw refused("its files are too large");
    if (files > archiveLimits.filesMax) throw refused("it holds too many files");
    if (path.length > archiveLimits.pathMaxChars || !isArchivedPath(path))
      throw refused("it holds a file that doesn't belong into an agent's folder");
    handler.file(path, content);
  }

  return {
    async take(name, content) {
      if (seen.size === 0) {
        if (name !== headName) throw damaged("it isn't the archive of an agent");
        handler.head(readHead(content));
      } else if (seen.has(name)) throw damaged("it holds a member twice");
      else if (name === `${rowsPrefix}${String(rows + 1).padStart(6, "0")}.jsonl` && files === 0) {
        rows += 1;
        await handler.rows(content);
      } else if (name.startsWith(filesPrefix)) takeFile(name.slice(filesPrefix.length), content);
      else throw damaged("a member is out of its place");
      seen.add(name);
    },
  };
}

export function readHead(content: Buffer): ArchiveHead {
  const { format, version, agentId, name, exportedAtMs, ranBy } = parseObject(content);
  if (format !== archiveFormat) throw damaged("it isn't the archive of an agent");
  if (version !== archiveVersion) {
    throw new BoxError("archive/newer-version", `the archive has version ${String(version)}`, {
      hint: `this program reads version ${archiveVersion}; import it with the newer one`,
    });
  }
  if (typeof agentId !== "string" || typeof name !== "string" || typeof exportedAtMs !== "number")
    throw damaged("its head can't be read");
  return { format, version, agentId, name, exportedAtMs, ranBy: parseRanBy(ranBy) };
}

function readManifest(content: Buffer): readonly ManifestMember[] {
  const { members } = parseObject(content);
  if (!Array.isArray(members)) throw damaged("its list of contents can't be read");
  // Compared with what was found as a whole, so its parts need no look of their own.
  return members as readonly ManifestMember[];
}

function compare(written: readonly ManifestMember[], found: readonly ManifestMember[]): void {
  if (JSON.stringify(written) !== JSON.stringify(found))
    throw damaged("its contents aren't what was written");
}

async function expectEnd(bytes: ByteReader): Promise<void> {
  const end = await bytes.take(2 * blockBytes);
  if (end.some((byte) => byte !== 0) || !(await bytes.isAtEnd())) throw damaged("something follows its end");
}

function parseObject(content: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(content.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below, like other text that isn't what it should be.
  }
  throw damaged("a part of it can't be read");
}

interface ByteReader {
  take(length: number): Promise<Buffer>;
  isAtEnd(): Promise<boolean>;
}

function createByteReader(stream: AsyncIterable<Buffer>, packedBytes: () => number): ByteReader {
  const parts = stream[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let total = 0;

  async function more(): Promise<boolean> {
    const next = await parts.next();
    if (next.done === true) return false;
    const part: Buffer = next.value;
    total += part.length;
    const most = archiveLimits.ratioFreeBytes + packedBytes() * archiveLimits.ratioMax;
    if (total > archiveLimits.totalMaxBytes || total > most)
      throw refused("it unpacks to more than an agent comes to");
    held = held.length === 0 ? part : Buffer.concat([held, part]);
    return true;
  }

  return {
    async take(length) {
      const gathered: Buffer[] = [];
      let missing = length;
      while (missing > 0) {
        if (held.length === 0 && !(await more())) throw damaged("it ends too early");
        const part = held.subarray(0, missing);
        held = held.subarray(part.length);
        gathered.push(part);
        missing -= part.length;
      }
      return Buffer.concat(gathered, length);
    },
    isAtEnd: async () => held.length === 0 && !(await more()),
  };
}

/** What zlib says of a file that isn't packed, or not to its end. */
function translate(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("Z_")) return damaged("it can't be unpacked");
  return error;
}
