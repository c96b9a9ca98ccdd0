/** Binds the file operations to their services. Nothing is decided here. */
import type { ConnectRouter } from "@connectrpc/connect";
import { Artifacts, Changes, Files } from "@sand/protocol/exec";
import { openArtifactStore } from "./artifacts/artifact-store.ts";
import { createArtifactVerbs } from "./artifacts/artifact-verbs.ts";
import { createChangesVerbs } from "./changes/changes-verbs.ts";
import { openCheckpointStore } from "./changes/checkpoint-store.ts";
import type { BoxFiles } from "./file-verbs.ts";

export function registerFiles(router: ConnectRouter, files: BoxFiles, dataRoot: string): void {
  router.service(Changes, createChangesVerbs({ files, store: openCheckpointStore(dataRoot) }));
  router.service(Artifacts, createArtifactVerbs({ files, store: openArtifactStore(dataRoot) }));
  router.service(Files, {
    read: (request) => files.read(request),
    write: (request) => files.write(request),
    append: (request) => files.append(request),
    list: (request) => files.list(request),
    listStream: (request, context) => files.listStream(request, context.signal),
    stat: (request) => files.stat(request),
    grep: (request) => files.grep(request),
    glob: (request) => files.glob(request),
    make: (request) => files.make(request),
    link: (request) => files.link(request),
    move: (request) => files.move(request),
    copy: (request) => files.copy(request),
    remove: (request) => files.remove(request),
    uploadPiece: (request) => files.uploadPiece(request),
    uploadStatus: (request) => files.uploadStatus(request),
    uploadCommit: (request) => files.uploadCommit(request),
    uploadDrop: (request) => files.uploadDrop(request),
    watch: (request, context) => files.watch(request, context.signal),
  });
}
