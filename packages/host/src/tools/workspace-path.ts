/**
 * Names of files as a model should see them: from the workspace when they lie in it, otherwise whole. Short names cost
 * fewer tokens, and every tool takes them back.
 */
import { relative } from "node:path/posix";
import type { BoxPort } from "../box/box-port.ts";
import { quoteName } from "./safe-text.ts";

export type NamePath = (path: string) => string;

/** Asks the box where its workspace lies. */
export async function createPathNamer(box: BoxPort, signal: AbortSignal): Promise<NamePath> {
  const { workspaceRoot } = await box.ping(signal);
  return (path) => quoteName(shortenPath(path, workspaceRoot));
}

export function shortenPath(path: string, workspaceRoot: string): string {
  if (path === workspaceRoot || !path.startsWith("/")) return path;
  const short = relative(workspaceRoot, path);
  return short === ".." || short.startsWith("../") ? path : short;
}
