/**
 * Fetches what one path in the box holds: a file, or with `recursive` a folder with all in it.
 *
 * The box is not trusted here. Only plain names are taken, a folder is never entered through a link that it named, and
 * links are made last, so that nothing is ever written through one of them.
 */
import { lstat, mkdir, rm, symlink } from "node:fs/promises";
import { basename } from "node:path";
import type { FileInfo } from "@sand/protocol/exec";
import { CommandFailure } from "../command-failure.ts";
import { type BoxFiles, callOptions, toFailure } from "./box-files.ts";
import {
  asBytePath,
  type BytePath,
  bytePathOf,
  fromWire,
  joinBytes,
  toBuffer,
  toText,
  toWire,
} from "./byte-path.ts";
import { fetchFile } from "./fetch-file.ts";
import type { SendDeps } from "./send-file.ts";

/** the generated values of `FileType`, which aren't loaded for this alone */
const fileType = { file: 1, folder: 2, link: 3 } as const;
const depthMax = 256;

export async function statInBox(box: BoxFiles, path: BytePath): Promise<FileInfo | undefined> {
  try {
    const request = { pathBytes: toWire(path), follow: true };
    return (await box.call((files) => files.stat(request, callOptions))).file;
  } catch (error) {
    if (error instanceof CommandFailure && error.failureCode === "file/not-found") return undefined;
    throw error;
  }
}

export function isFolderInfo(info: FileInfo | undefined): boolean {
  return info?.type === fileType.folder;
}

export async function fetchPath(
  deps: SendDeps,
  { source, destination }: { readonly source: BytePath; readonly destination: BytePath },
  recursive: boolean,
): Promise<void> {
  const info = await statInBox(deps.box, source);
  if (info === undefined) throw new CommandFailure("notFound", `there is no ${toText(source)} in the box`);
  if (info.type === fileType.file) return await fetchFile(deps, source, destination);
  if (info.type !== fileType.folder)
    throw new CommandFailure("usage", `${toText(source)} is neither a file nor a folder`);
  if (!recursive)
    throw new CommandFailure("usage", `${toText(source)} is a folder`, { hint: "sand cp -r copies folders" });
  const links: PlannedLink[] = [];
  await fetchFolder(deps, source, destination, { links, depth: 0 });
  for (const link of links) await makeLink(link);
}

interface PlannedLink {
  readonly path: BytePath;
  readonly target: BytePath;
}

interface Level {
  readonly links: PlannedLink[];
  readonly depth: number;
}

async function fetchFolder(
  deps: SendDeps,
  source: BytePath,
  destination: BytePath,
  { links, depth }: Level,
): Promise<void> {
  if (depth > depthMax) throw new CommandFailure("failed", `${toText(source)} is too deep`);
  await makeFolder(destination);
  for await (const info of listInBox(deps.box, source)) {
    deps.signal.throwIfAborted();
    const name = basename(fromWire(info));
    if (name === "" || name === "." || name === "..") continue;
    const [from, to] = [joinBytes(source, name), joinBytes(destination, name)];
    if (info.type === fileType.folder) await fetchFolder(deps, from, to, { links, depth: depth + 1 });
    else if (info.type === fileType.file) await fetchFile(deps, from, to);
    else if (info.type === fileType.link) links.push({ path: to, target: targetOf(info) });
    else deps.tally.skip(toText(from), "it is no file, folder or link");
  }
}

/** Page by page, so that a folder of any size is never held as a whole. */
async function* listInBox(box: BoxFiles, path: BytePath): AsyncGenerator<FileInfo, void, undefined> {
  let pageToken: Uint8Array<ArrayBuffer> = new Uint8Array();
  do {
    const request = { pathBytes: toWire(path), entriesMax: 1000, pageToken };
    const page = await box.call((files) => files.list(request, callOptions));
    yield* page.entries;
    pageToken = new Uint8Array(page.nextPageToken);
  } while (pageToken.length > 0);
}

function targetOf({ linkTarget = "", linkTargetBytes }: FileInfo): BytePath {
  return linkTargetBytes.length > 0
    ? asBytePath(Buffer.from(linkTargetBytes).toString("latin1"))
    : bytePathOf(linkTarget);
}

async function makeFolder(path: BytePath): Promise<void> {
  try {
    await mkdir(toBuffer(path));
  } catch (error) {
    // Who merges into a folder of theirs may have it as a link; below that, only what we made ourselves is entered.
    const facts = await lstat(toBuffer(path)).catch(() => undefined);
    if (facts?.isDirectory() === true) return;
    throw new CommandFailure("failed", `${toText(path)} can't be made a folder`, {
      cause: await toFailure(error),
    });
  }
}

async function makeLink({ path, target }: PlannedLink): Promise<void> {
  const facts = await lstat(toBuffer(path)).catch(() => undefined);
  if (facts?.isDirectory() === true)
    throw new CommandFailure("failed", `${toText(path)} is a folder, and a link in the box`);
  await rm(toBuffer(path), { force: true });
  await symlink(toBuffer(target), toBuffer(path));
}
