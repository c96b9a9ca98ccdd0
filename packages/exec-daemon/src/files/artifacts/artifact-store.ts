/**
 * The artifacts under the data root: one folder each, with the content and what is known of it. A folder comes into its
 * place by a rename when it is whole, so what a crash leaves is an incoming folder, which the next start removes.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createSemaphore, syncFolder, writeFileAtomic } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { errnoOf } from "../file-errors.ts";
import { fileLimits } from "../file-limits.ts";

export interface ArtifactFacts {
  readonly id: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly createdAtMs: number;
  readonly sourcePath: string;
  readonly mode: number;
}

/** Content on its way; nothing of it shows before `finish`. */
export interface IncomingArtifact {
  /** Throws `file/no-space` when there is no room. */
  add(piece: Uint8Array): Promise<void>;
  finish(facts: ArtifactFacts): Promise<void>;
  drop(): Promise<void>;
}

export interface ArtifactStore {
  list(): Promise<readonly ArtifactFacts[]>;
  find(id: string): Promise<ArtifactFacts | undefined>;
  receive(): Promise<IncomingArtifact>;
  read(id: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  remove(id: string): Promise<boolean>;
  /** One at a time: the bounds hold for what is there and what comes. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

const incomingStart = ".incoming-";

export function openArtifactStore(dataRoot: string): ArtifactStore {
  const root = join(dataRoot, "artifacts");
  const turn = createSemaphore(1);
  let known: Map<string, ArtifactFacts> | undefined;

  async function load(): Promise<Map<string, ArtifactFacts>> {
    if (known !== undefined) return known;
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const found = new Map<string, ArtifactFacts>();
    for (const name of await readdir(root)) {
      if (name.startsWith(incomingStart)) await rm(join(root, name), { recursive: true, force: true });
      else {
        // Written whole by ourselves, so reading it is its parser.
        const facts = JSON.parse(await readFile(join(root, name, "facts.json"), "utf8")) as ArtifactFacts;
        found.set(facts.id, facts);
      }
    }
    known ??= found;
    return known;
  }

  async function totalBytes(): Promise<number> {
    let sum = 0;
    for (const { sizeBytes } of (await load()).values()) sum += sizeBytes;
    return sum;
  }

  return {
    list: async () => [...(await load()).values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    find: async (id) => (await load()).get(id),
    async receive() {
      if ((await load()).size >= fileLimits.artifactsMax)
        throw new BoxError("file/no-space", `${fileLimits.artifactsMax} artifacts are kept; remove some`);
      const room = Math.min(fileLimits.artifactMaxBytes, fileLimits.artifactsMaxBytes - (await totalBytes()));
      const folder = join(root, `${incomingStart}${randomBytes(8).toString("hex")}`);
      await mkdir(folder, { mode: 0o700 });
      const handle = await open(join(folder, "content"), "wx", 0o600);
      return createIncoming({
        root,
        folder,
        handle,
        room,
        onFinished: (facts) => known?.set(facts.id, facts),
      });
    },
    async read(id, offset, length) {
      const handle = await open(join(root, id, "content"), "r");
      try {
        const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    },
    async remove(id) {
      if (!(await load()).delete(id)) return false;
      // Out of its place first: half of it must not be found by the next start.
      const gone = join(root, `${incomingStart}${randomBytes(8).toString("hex")}`);
      await rename(join(root, id), gone);
      await rm(gone, { recursive: true, force: true });
      return true;
    },
    async alone(work) {
      const release = await turn.acquire();
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

interface IncomingDeps {
  readonly root: string;
  readonly folder: string;
  readonly handle: FileHandle;
  readonly room: number;
  readonly onFinished: (facts: ArtifactFacts) => void;
}

function createIncoming({ root, folder, handle, room, onFinished }: IncomingDeps): IncomingArtifact {
  let written = 0;
  return {
    async add(piece) {
      written += piece.length;
      if (written > room) throw new BoxError("file/no-space", "there is no room for this artifact");
      try {
        await handle.writeFile(piece);
      } catch (cause) {
        if (!["ENOSPC", "EDQUOT"].includes(errnoOf(cause) ?? "")) throw cause;
        throw new BoxError("file/no-space", "the disk is full", { cause });
      }
    },
    async finish(facts) {
      await handle.sync();
      await handle.close();
      await writeFileAtomic(join(folder, "facts.json"), JSON.stringify(facts));
      await rename(folder, join(root, facts.id));
      syncFolder(root);
      onFinished(facts);
    },
    async drop() {
      // Closed already when it was finishing that failed.
      await handle.close().catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
