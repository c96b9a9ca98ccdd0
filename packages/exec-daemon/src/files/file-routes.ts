/** Binds the file operations to their services. Nothing is decided here. */
import type { ConnectRouter } from "@connectrpc/connect";
import { Files } from "@sand/protocol/exec";
import type { BoxFiles } from "./file-verbs.ts";

export function registerFiles(router: ConnectRouter, files: BoxFiles): void {
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
