/** Sends what one path here holds: a file, or with `recursive` a folder with all in it. Links go along as links. */
import type { Dirent } from "node:fs";
import { lstat, readdir, readlink, stat } from "node:fs/promises";
import { CommandFailure } from "../command-failure.ts";
import { callOptions } from "./box-files.ts";
import { asBytePath, type BytePath, joinBytes, toBuffer, toText, toWire } from "./byte-path.ts";
import { isAbsent } from "./is-absent.ts";
import { type SendDeps, sendFile } from "./send-file.ts";

export async function sendPath(
  deps: SendDeps,
  ends: { readonly source: BytePath; readonly destination: BytePath },
  recursive: boolean,
): Promise<void> {
  const { source, destination } = ends;
  // What is named is meant, also through a link; links below are copied as they are.
  const facts = await stat(toBuffer(source)).catch((cause: unknown) => {
    if (isAbsent(cause))
      throw new CommandFailure("notFound", `there is no ${toText(source)} here`, { cause });
    throw new CommandFailure("failed", `${toText(source)} can't be read`, { cause });
  });
  if (facts.isFile()) return await sendFile(deps, source, destination);
  if (!facts.isDirectory())
    throw new CommandFailure("usage", `${toText(source)} is neither a file nor a folder`);
  if (!recursive)
    throw new CommandFailure("usage", `${toText(source)} is a folder`, { hint: "sand cp -r copies folders" });
  await sendFolder(deps, source, destination);
}

async function sendFolder(deps: SendDeps, source: BytePath, destination: BytePath): Promise<void> {
  const { mode } = await lstat(toBuffer(source));
  const folder = { pathBytes: toWire(destination), mode: (mode & 0o777) | 0o700 };
  await deps.box.call((files) => files.make(folder, callOptions));
  const names = await readdir(toBuffer(source), { encoding: "latin1", withFileTypes: true });
  for (const entry of names.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    deps.signal.throwIfAborted();
    await sendEntry(deps, entry, joinBytes(source, entry.name), joinBytes(destination, entry.name));
  }
}

async function sendEntry(
  deps: SendDeps,
  entry: Dirent<string>,
  source: BytePath,
  destination: BytePath,
): Promise<void> {
  if (entry.isDirectory()) await sendFolder(deps, source, destination);
  else if (entry.isFile()) await sendFile(deps, source, destination);
  else if (entry.isSymbolicLink()) {
    const target = asBytePath((await readlink(toBuffer(source), "buffer")).toString("latin1"));
    const link = { pathBytes: toWire(destination), targetBytes: toWire(target), overwrite: true };
    await deps.box.call((files) => files.link(link, callOptions));
  } else deps.tally.skip(toText(source), "it is no file, folder or link");
}
