/**
 * Watch: changes below a folder as a stream: `started`, then what happens, a keepalive whenever it was silent for a
 * while, and an overflow when something may have gone unseen. It ends when the folder is removed or moved away.
 */
import { closeSync, fstatSync, statfsSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { isTemporaryOf } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { ChangeType, type FilesWatchRequest, type FilesWatchResponseSchema } from "@sand/protocol/exec";
import { again, openFolderAt, realPathOf } from "../descriptor.ts";
import { describeAt } from "../file-info.ts";
import { fileLimits } from "../file-limits.ts";
import { ignoredNames } from "../ignored-names.ts";
import type { PathFence } from "../path-fence.ts";
import { asRaw, joinRaw, oddBytesOf, type RawPath, textOf } from "../raw-path.ts";
import { isUploadPart } from "../upload.ts";
import { atPlace } from "../walk-path.ts";
import { createFloodGauge } from "./flood-gauge.ts";
import { createNoticeDesk } from "./notice-desk.ts";
import type { TreeChange } from "./tree-change.ts";
import { createWatchBudgets, type WatchBudget } from "./watch-budget.ts";
import { openWatchedTree, type WatchedTree } from "./watched-tree.ts";

type WatchMessage = MessageInitShape<typeof FilesWatchResponseSchema>;
export type Watch = (request: FilesWatchRequest, signal: AbortSignal) => AsyncGenerator<WatchMessage>;

export function createWatch(fence: PathFence): Watch {
  const budgetFor = createWatchBudgets();
  const onFloods = new Set<() => void>();
  const gauge = createFloodGauge(() => {
    for (const onFlood of onFloods) onFlood();
  });

  return async function* watch(request, signal) {
    const path = fence.locate(request);
    const root = await openRoot(fence, path, request);
    const deps = { root, request, budget: budgetFor(request.foldersMax), count: gauge.count };
    try {
      yield* follow(fence, path, deps, { signal, onFloods });
    } finally {
      closeSync(root);
    }
  };
}

async function openRoot(fence: PathFence, path: RawPath, request: FilesWatchRequest): Promise<number> {
  return await atPlace(fence, path, { access: "read", follow: true }, async (place) => {
    const root = openFolderAt(place.folder, place.name);
    try {
      fence.check(realPathOf(root), "read");
      if (!request.allowNetworkMounts && networkTypes.includes(statfsSync(again(root)).type))
        throw new BoxError(
          "exec/unsupported",
          "this is a network file system, whose other writers aren't noticed; allow_network_mounts takes it all the same",
        );
      return root;
    } catch (error) {
      closeSync(root);
      throw error;
    }
  });
}

/** by `statfs`: NFS, SMB (three of them), Ceph, AFS, 9p, FUSE (of which sshfs is one) */
const networkTypes: readonly number[] = [
  ...[0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x00c36400, 0x5346414f, 0x01021997, 0x65735546],
];

interface WatchDeps {
  readonly root: number;
  readonly request: FilesWatchRequest;
  readonly budget: WatchBudget;
  readonly count: () => void;
}

interface WatchLife {
  readonly signal: AbortSignal;
  readonly onFloods: Set<() => void>;
}

async function* follow(
  fence: PathFence,
  path: RawPath,
  { root, request, budget, count }: WatchDeps,
  { signal, onFloods }: WatchLife,
): AsyncGenerator<WatchMessage> {
  const desk = createNoticeDesk();
  const ignored = ignoredNames(request.ignore);
  let changes: TreeChange[] = [];
  let gap: string | undefined;
  const tree = await openWatchedTree({
    root,
    recursive: request.recursive,
    isLeftOut: (name) => ignored.has(name) || isOurOwn(name),
    budget,
    onNotice(folder, name) {
      count();
      desk.note(folder, name);
    },
    onChange(change) {
      if (changes.length < fileLimits.watchQueueMax) changes.push(change);
      else gap = `more than ${fileLimits.watchQueueMax} changes at once`;
    },
    onGap(reason) {
      gap = reason;
    },
  });
  const onFlood = (): void => {
    gap = "changes came faster than the system tells of them";
    for (const folder of tree.all()) desk.note(folder, undefined);
  };
  onFloods.add(onFlood);
  const home = realPathOf(root);
  try {
    yield { event: { case: "started", value: countsOf(tree, budget) } };
    let quietMs = 0;
    while (!signal.aborted) {
      const dirty = await desk.take(fileLimits.watchCheckMs, signal);
      if (signal.aborted) return;
      if (isGone(root, home)) {
        yield toMessage({ kind: "remove", path: asRaw(""), type: 2 }, undefined);
        return;
      }
      await tree.look(dirty);
      const [told, reason] = [changes, gap];
      [changes, gap] = [[], undefined];
      for (const change of told) yield await describe(fence, path, change, request.includeInfo);
      if (reason !== undefined) yield { event: { case: "overflow", value: { reason } } };
      quietMs = dirty.size === 0 ? quietMs + fileLimits.watchCheckMs : 0;
      if (quietMs < fileLimits.watchKeepaliveMs) continue;
      quietMs = 0;
      yield { event: { case: "keepalive", value: {} } };
    }
  } finally {
    onFloods.delete(onFlood);
    tree.close();
  }
}

/** Copies on their way into place: what they become is told. */
function isOurOwn(name: string): boolean {
  return isUploadPart(name) || (name.startsWith(".") && isTemporaryOf(name.slice(1, -17), name));
}

function countsOf(tree: WatchedTree, budget: WatchBudget): { folders: number; entries: number } {
  return { folders: budget.taken, entries: tree.entries };
}

function isGone(root: number, home: RawPath): boolean {
  return fstatSync(root).nlink === 0 || realPathOf(root) !== home;
}

async function describe(
  fence: PathFence,
  root: RawPath,
  change: TreeChange,
  includeInfo: boolean,
): Promise<WatchMessage> {
  if (!includeInfo || change.kind === "remove") return toMessage(change, undefined);
  const path = joinRaw(root, change.path);
  const info = await atPlace(fence, path, { access: "read", follow: false }, async (place) =>
    describeAt(place.folder, place.name, fence.show(path)),
  ).catch(() => undefined);
  return toMessage(change, info);
}

const changeTypes = {
  create: ChangeType.CREATE,
  write: ChangeType.WRITE,
  remove: ChangeType.REMOVE,
  rename: ChangeType.RENAME,
  chmod: ChangeType.CHMOD,
} as const;

function toMessage(change: TreeChange, file: ReturnType<typeof describeAt>): WatchMessage {
  const old =
    change.kind === "rename"
      ? { oldName: textOf(change.oldPath), oldNameBytes: oddBytesOf(change.oldPath) }
      : {};
  const value = {
    type: changeTypes[change.kind],
    name: textOf(change.path),
    nameBytes: oddBytesOf(change.path),
    fileType: change.type,
    ...old,
    ...(file === undefined ? {} : { file }),
  };
  return { event: { case: "change", value } };
}
