/**
 * What happens below a folder, in the words of this surface. A rename is told under the old name, and the new name as
 * something made there. A file that appears with its content whole, as an atomic write leaves it, is told as written
 * too: clients wait for that after a write.
 */
import { posix } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { EventType, type FilesystemEventSchema, type WatchDirRequest } from "@sand/protocol/e2b";
import { ChangeType, type FileChange, FileType } from "@sand/protocol/exec";
import type { DaemonPorts } from "../surface-ports.ts";
import type { DescribeFiles } from "./describe-files.ts";

export type WatchEvent = MessageInitShape<typeof FilesystemEventSchema>;
export type WatchRequest = Pick<WatchDirRequest, "recursive" | "includeEntry" | "allowNetworkMounts"> & {
  readonly path: string;
};
export type WatchStep = { readonly kind: "started" } | { readonly kind: "event"; readonly event: WatchEvent };

export async function* watchEvents(
  deps: { readonly files: DaemonPorts["files"]; readonly describe: DescribeFiles },
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchStep> {
  const { path, recursive, allowNetworkMounts } = request;
  const answers = deps.files.watch(
    { path, recursive, allowNetworkMounts, includeInfo: true, ignore: ["-"] },
    { signal },
  );
  for await (const { event } of answers) {
    switch (event.case) {
      case "started":
        yield { kind: "started" };
        break;
      case "change":
        for (const told of toEvents(event.value)) {
          const entry = request.includeEntry
            ? await describeChange(deps.describe, event.value, told.name)
            : undefined;
          yield { kind: "event", event: { ...told, ...(entry === undefined ? {} : { entry }) } };
        }
        break;
      case "overflow":
        throw new ConnectError(`changes were missed (${event.value.reason}): list again`, Code.DataLoss);
      case "keepalive":
      case undefined:
        break;
    }
  }
}

interface ToldEvent {
  readonly name: string;
  readonly type: EventType;
}

export function toEvents(change: FileChange): readonly ToldEvent[] {
  const { name } = change;
  const made: readonly ToldEvent[] =
    change.fileType === FileType.FILE && (change.file?.sizeBytes ?? 0n) > 0n
      ? [
          { name, type: EventType.CREATE },
          { name, type: EventType.WRITE },
        ]
      : [{ name, type: EventType.CREATE }];
  switch (change.type) {
    case ChangeType.CREATE:
      return made;
    case ChangeType.WRITE:
      return [{ name, type: EventType.WRITE }];
    case ChangeType.REMOVE:
      return [{ name, type: EventType.REMOVE }];
    case ChangeType.RENAME:
      return change.oldName === "" ? made : [{ name: change.oldName, type: EventType.RENAME }, ...made];
    case ChangeType.CHMOD:
      return [{ name, type: EventType.CHMOD }];
    case ChangeType.UNSPECIFIED:
      return [];
  }
}

/** Only what still exists has an entry. */
async function describeChange(describe: DescribeFiles, change: FileChange, name: string) {
  if (change.file === undefined || name !== change.name) return undefined;
  const [entry] = await describe([change.file]);
  return entry === undefined ? undefined : { ...entry, name: posix.basename(change.file.path) };
}
