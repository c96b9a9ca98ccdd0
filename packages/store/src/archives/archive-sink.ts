/** Packs members into a file that gets its name only when it is whole and on disk. */
import { createHash } from "node:crypto";
import { createWriteStream, rmSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { syncFolder } from "@sand/node-kit";
import { invariant } from "@sand/protocol";
import type { ManifestMember } from "./archive-content.ts";
import { archiveLimits } from "./archive-limits.ts";
import { blockBytes, encodeHeader, isMemberName, paddingOf, refused } from "./tar-member.ts";

export interface ArchiveSink {
  readonly members: readonly ManifestMember[];
  add(name: string, content: Buffer): Promise<void>;
  /** returns the archive's size in bytes */
  finish(): Promise<number>;
  /** nothing is left of it */
  drop(): Promise<void>;
}

export function createArchiveSink(file: string): ArchiveSink {
  const temporary = `${file}.part-${process.pid}`;
  const members: ManifestMember[] = [];
  const packed = createGzip();
  const written = pipeline(packed, createWriteStream(temporary, { flags: "wx", mode: 0o600 }));
  // Whoever adds or finishes hears of it; until then nobody waits for it.
  written.catch(() => undefined);
  let total = 0;

  async function write(bytes: Buffer): Promise<void> {
    if (packed.write(bytes)) return;
    const drained = new Promise<void>((resolve) => packed.once("drain", resolve));
    await Promise.race([drained, written]);
  }

  return {
    members,
    async add(name, content) {
      invariant(isMemberName(name), "a member's name is safe");
      if (content.length > archiveLimits.memberMaxBytes) throw refused(`${name} is too large`);
      total += content.length;
      if (total > archiveLimits.totalMaxBytes || members.length >= archiveLimits.membersMax)
        throw refused("the agent has more than an archive takes");
      await write(encodeHeader({ name, bytes: content.length }));
      await write(content);
      await write(Buffer.alloc(paddingOf(content.length)));
      const sha256 = createHash("sha256").update(content).digest("hex");
      members.push({ name, bytes: content.length, sha256 });
    },
    async finish() {
      packed.end(Buffer.alloc(2 * blockBytes));
      await written;
      const made = await open(temporary, "r");
      const { size } = await made.stat().finally(async () => {
        await made.sync();
        await made.close();
      });
      // Not a rename: that would replace a file that came there meanwhile.
      await link(temporary, file);
      await rm(temporary);
      syncFolder(dirname(file));
      return size;
    },
    async drop() {
      packed.destroy();
      await written.catch(() => undefined);
      rmSync(temporary, { force: true });
    },
  };
}
