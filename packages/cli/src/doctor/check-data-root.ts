/** The data root: there, ours, closed to others, and with room to write. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Finding } from "./finding.ts";

const wantedBytes = 1024 ** 3;
const neededBytes = 100 * 1024 ** 2;

export function checkDataRoot(dataRoot: string): Finding {
  const subject = "data root";
  const stat = statSync(dataRoot, { throwIfNoEntry: false });
  if (stat === undefined) {
    const parent = nearestFolder(dataRoot);
    if (isWritable(parent)) return { subject, severity: "ok", text: `${dataRoot} will be made` };
    return {
      subject,
      severity: "fail",
      text: `${dataRoot} can't be made: ${parent} isn't writable`,
      hint: "give --data-root",
    };
  }
  if (!stat.isDirectory())
    return { subject, severity: "fail", text: `${dataRoot} is no folder`, hint: "give --data-root" };
  if (!isWritable(dataRoot))
    return { subject, severity: "fail", text: `${dataRoot} isn't writable`, hint: "check its owner" };
  if ((stat.mode & 0o077) !== 0) {
    return {
      subject,
      severity: "warn",
      text: `${dataRoot} is open to other users`,
      hint: `chmod 700 ${dataRoot}`,
    };
  }
  return { subject, severity: "ok", text: `${dataRoot}, yours alone` };
}

export async function checkDiskSpace(dataRoot: string): Promise<Finding> {
  const subject = "disk";
  const folder = nearestFolder(dataRoot);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${folder}`;
  if (free < neededBytes)
    return { subject, severity: "fail", text, hint: "make room: nothing can be committed without it" };
  if (free < wantedBytes) return { subject, severity: "warn", text, hint: "make room soon" };
  return { subject, severity: "ok", text };
}

function nearestFolder(path: string): string {
  let folder = path;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    // That it can't be written to is the answer, whatever the reason.
    return false;
  }
}
