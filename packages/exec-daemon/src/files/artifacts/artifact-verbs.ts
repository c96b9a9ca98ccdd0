/** The service `Artifacts`: between the store of the daemon and the files of the box, one piece at a time. */
import { createHash, randomUUID } from "node:crypto";
import { basename } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { systemClock } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import {
  type ArtifactSchema,
  type Artifacts,
  type ArtifactsRestoreRequest,
  type ArtifactsUploadRequest,
  FilesReadRequestSchema,
  FilesUploadCommitRequestSchema,
  FilesUploadDropRequestSchema,
  FilesUploadPieceRequestSchema,
} from "@sand/protocol/exec";
import { limits } from "../../limits.ts";
import { fileLimits } from "../file-limits.ts";
import type { BoxFiles } from "../file-verbs.ts";
import type { ArtifactFacts, ArtifactStore, IncomingArtifact } from "./artifact-store.ts";

export interface ArtifactDeps {
  readonly files: BoxFiles;
  readonly store: ArtifactStore;
}

const idShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/u;
const nameMaxChars = 255;
const pageMax = 200;
const newFileMode = 0o644;

export function createArtifactVerbs(deps: ArtifactDeps): ServiceImpl<typeof Artifacts> {
  const { store } = deps;
  return {
    async list({ afterId, artifactsMax }) {
      const all = (await store.list()).filter(({ id }) => id > afterId);
      const page = all.slice(0, Math.min(artifactsMax || pageMax, pageMax));
      return { artifacts: page.map(toMessage), truncated: page.length < all.length };
    },
    upload: (request) => store.alone(() => upload(deps, request)),
    restore: (request) => restore(deps, request),
    async read({ id, offset, lengthMax }) {
      const facts = await need(store, id);
      const length = Math.min(lengthMax || limits.fileReadMaxBytes, limits.fileReadMaxBytes);
      const left = Math.max(0, facts.sizeBytes - Number(offset));
      // Behind the end there is nothing to read, at places that a file can't even have.
      const data =
        left === 0 ? new Uint8Array() : await store.read(id, Number(offset), Math.min(length, left));
      return { data, totalBytes: BigInt(facts.sizeBytes) };
    },
    remove: ({ id }) => store.alone(async () => ({ existed: await store.remove(checkId(id)) })),
  };
}

type Uploaded = { artifact: MessageInitShape<typeof ArtifactSchema>; existing: boolean };

async function upload({ files, store }: ArtifactDeps, request: ArtifactsUploadRequest): Promise<Uploaded> {
  const id = request.id === "" ? randomUUID() : checkId(request.id);
  if (request.name.length > nameMaxChars) throw new BoxError("exec/invalid", "the name is too long");
  const known = await store.find(id);
  const incoming = await store.receive();
  try {
    const taken = await take(files, request, incoming);
    const facts: ArtifactFacts = {
      id,
      ...taken,
      name: request.name || basename(taken.sourcePath) || id,
      createdAtMs: systemClock.nowMs(),
    };
    if (known === undefined) {
      await incoming.finish(facts);
      return { artifact: toMessage(facts), existing: false };
    }
    if (known.sha256 !== facts.sha256)
      throw new BoxError("exec/key-conflict", "an artifact with this id has other content");
    await incoming.drop();
    return { artifact: toMessage(known), existing: true };
  } catch (error) {
    await incoming.drop();
    throw error;
  }
}

type Taken = Pick<ArtifactFacts, "sizeBytes" | "sha256" | "sourcePath" | "mode">;

async function take(
  files: BoxFiles,
  { source }: ArtifactsUploadRequest,
  incoming: IncomingArtifact,
): Promise<Taken> {
  switch (source.case) {
    case "data": {
      await incoming.add(source.value);
      const sha256 = createHash("sha256").update(source.value).digest("hex");
      return { sizeBytes: source.value.length, sha256, sourcePath: "", mode: newFileMode };
    }
    case "path":
      return await takeFile(files, { path: source.value, pathBytes: new Uint8Array() }, incoming);
    case "pathBytes":
      return await takeFile(files, { path: "", pathBytes: new Uint8Array(source.value) }, incoming);
    case undefined:
      throw new BoxError("exec/invalid", "an upload needs a path or data");
  }
}

/** As it was when it was begun: a file that changes meanwhile is refused by its version. */
async function takeFile(
  files: BoxFiles,
  at: { readonly path: string; readonly pathBytes: Uint8Array<ArrayBuffer> },
  incoming: IncomingArtifact,
): Promise<Taken> {
  const hash = createHash("sha256");
  let [sizeBytes, expectedVersion] = [0, ""];
  for (;;) {
    const read = await files.read(
      create(FilesReadRequestSchema, {
        ...at,
        offset: BigInt(sizeBytes),
        lengthMax: fileLimits.transferPieceBytes,
        noDigest: true,
        expectedVersion,
      }),
    );
    const data = read.data ?? new Uint8Array();
    await incoming.add(data);
    hash.update(data);
    sizeBytes += data.length;
    expectedVersion = read.version ?? "";
    if (data.length === 0 || sizeBytes >= Number(read.totalBytes))
      return {
        sizeBytes,
        sha256: hash.digest("hex"),
        sourcePath: read.path ?? "",
        mode: read.mode ?? newFileMode,
      };
  }
}

async function restore(
  { files, store }: ArtifactDeps,
  request: ArtifactsRestoreRequest,
): Promise<{ artifact: MessageInitShape<typeof ArtifactSchema>; created: boolean }> {
  const facts = await need(store, request.id);
  const { path, pathBytes, precondition } = request;
  const at = { path, pathBytes, uploadId: `artifact-${randomUUID()}` };
  try {
    for (let offset = 0; offset < facts.sizeBytes; offset += fileLimits.transferPieceBytes) {
      const data = await store.read(facts.id, offset, fileLimits.transferPieceBytes);
      await files.uploadPiece(create(FilesUploadPieceRequestSchema, { ...at, offset: BigInt(offset), data }));
    }
    const { created = false } = await files.uploadCommit(
      create(FilesUploadCommitRequestSchema, {
        ...{ ...at, precondition, sha256: facts.sha256, mode: facts.mode },
        sizeBytes: BigInt(facts.sizeBytes),
      }),
    );
    return { artifact: toMessage(facts), created };
  } catch (error) {
    await files.uploadDrop(create(FilesUploadDropRequestSchema, at)).catch(() => undefined);
    throw error;
  }
}

async function need(store: ArtifactStore, id: string): Promise<ArtifactFacts> {
  const facts = await store.find(checkId(id));
  if (facts === undefined) throw new BoxError("file/not-found", "there is no such artifact");
  return facts;
}

function checkId(id: string): string {
  if (idShape.test(id)) return id;
  throw new BoxError("exec/invalid", "an artifact's id is up to 128 letters, digits, dots, dashes and bars");
}

function toMessage(facts: ArtifactFacts): MessageInitShape<typeof ArtifactSchema> {
  return { ...facts, sizeBytes: BigInt(facts.sizeBytes), createdAtMs: BigInt(facts.createdAtMs) };
}
