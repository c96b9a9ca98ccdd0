/** Binds the verbs of `filesystem.Filesystem` to the daemon's own file operations. */

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { Filesystem, type WatchDirResponse, WatchDirResponseSchema } from "@sand/protocol/e2b";
import { type FileInfo, FileType } from "@sand/protocol/exec";
import { checkUser, userOfHeader } from "../choose-user.ts";
import { keepAlive, keepaliveMs } from "../keep-alive.ts";
import { limits } from "../limits.ts";
import { resolvePath } from "../resolve-path.ts";
import { invalid, notFound, sandCodeOf } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";
import type { DescribeFiles } from "./describe-files.ts";
import { listFolder } from "./list-folder.ts";
import type { PolledWatchers } from "./polled-watchers.ts";
import type { EntryInit } from "./to-entry.ts";
import type { WatchRequest, WatchStep } from "./watch-events.ts";

export interface FilesystemDeps {
  readonly ports: DaemonPorts;
  readonly describe: DescribeFiles;
  readonly watch: (request: WatchRequest, signal: AbortSignal) => AsyncIterable<WatchStep>;
  readonly watchers: PolledWatchers;
}

export function registerFilesystem(router: ConnectRouter, deps: FilesystemDeps): void {
  const { files, account } = deps.ports;

  /** The path that a call means, once it is clear that its account is the one here. */
  function locate(path: string, context: HandlerContext): string {
    checkUser(account, userOfHeader(context.requestHeader.get("authorization")));
    return resolvePath(path, account.home);
  }

  /** The same where what is there is changed or goes away: a path that was forgotten must not mean the home. */
  function locateNamed(path: string, context: HandlerContext): string {
    if (path === "") throw invalid("the path is missing");
    return locate(path, context);
  }

  async function entryOf(file: FileInfo | undefined): Promise<EntryInit> {
    if (file === undefined) throw new ConnectError("the daemon said nothing of the file", Code.Internal);
    const [entry] = await deps.describe([file]);
    return entry ?? {};
  }

  const toWatch = (request: Omit<WatchRequest, "path">, path: string): WatchRequest => ({
    ...{ path, recursive: request.recursive, includeEntry: request.includeEntry },
    allowNetworkMounts: request.allowNetworkMounts,
  });

  router.service(Filesystem, {
    async stat(request, context) {
      const { file } = await files.stat({ path: locate(request.path, context) });
      return { entry: await entryOf(file) };
    },
    async makeDir(request, context) {
      const path = locateNamed(request.path, context);
      const { created, file } = await blameNoFolder(files.make({ path }));
      if (!created && file?.type === FileType.DIRECTORY)
        throw new ConnectError("the folder is there already", Code.AlreadyExists);
      if (!created) throw invalid("there is a file of this name");
      return { entry: await entryOf(file) };
    },
    async move(request, context) {
      const path = locateNamed(request.source, context);
      const destination = locateNamed(request.destination, context);
      const { file } = await files.move({ path, destination, overwrite: true });
      // Of what isn't there and is moved to where it is, the daemon has nothing to tell.
      if (file === undefined) throw notFound("there is nothing to move");
      return { entry: await entryOf(file) };
    },
    async listDir(request, context) {
      const path = locate(request.path, context);
      const depth = Math.min(Math.max(1, request.depth), limits.listDepthMax);
      return { entries: await deps.describe(await blameNoFolder(listFolder(files, path, depth))) };
    },
    async remove(request, context) {
      await files.remove({ path: locateNamed(request.path, context), recursive: true });
      return {};
    },
    watchDir: (request, context) =>
      followFolder(deps, toWatch(request, locate(request.path, context)), context),
    async createWatcher(request, context) {
      const path = locate(request.path, context);
      return { watcherId: await blameNoFolder(deps.watchers.create(toWatch(request, path))) };
    },
    getWatcherEvents: (request) => ({ events: deps.watchers.take(request.watcherId) }),
    removeWatcher(request) {
      deps.watchers.remove(request.watcherId);
      return {};
    },
  });
}

/** Where a folder is asked for and a file is found, the question is wrong, and not the state of things. */
async function blameNoFolder<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (sandCodeOf(error) === "file/not-a-directory")
      throw invalid("there is a file where a folder is meant");
    throw error;
  }
}

async function* followFolder(
  deps: FilesystemDeps,
  request: WatchRequest,
  context: HandlerContext,
): AsyncGenerator<WatchDirResponse> {
  const { signal } = context;
  const steps = toAnswers(deps.watch(request, signal));
  try {
    yield* keepAlive(steps, keepaliveMs(context.requestHeader), () =>
      answer({ case: "keepalive", value: {} }),
    );
  } catch (error) {
    if (!signal.aborted) await blameNoFolder(Promise.reject(error as Error));
  }
  if (signal.aborted && signal.reason instanceof ConnectError) throw signal.reason;
}

async function* toAnswers(steps: AsyncIterable<WatchStep>): AsyncGenerator<WatchDirResponse> {
  for await (const step of steps) {
    yield step.kind === "started"
      ? answer({ case: "start", value: {} })
      : answer({ case: "filesystem", value: step.event });
  }
}

function answer(
  event: NonNullable<Parameters<typeof create<typeof WatchDirResponseSchema>>[1]>["event"],
): WatchDirResponse {
  return create(WatchDirResponseSchema, { ...(event === undefined ? {} : { event }) });
}
