/**
 * Finds out by trying whether bubblewrap encloses a command here. That the program exists proves little: containers
 * often forbid user namespaces or mounting `/proc`, and only a run shows it.
 *
 * The canary must see itself as an early process of a namespace of its own, and nothing in a masked folder.
 */
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { SandboxProbe } from "./decide-sandbox.ts";
import { planSandbox } from "./plan-sandbox.ts";

export interface ProbeOptions {
  /** where programs are looked up, as in PATH */
  readonly searchPath: string;
  /** a folder of ours for the canary's files */
  readonly scratchRoot: string;
  /** Turns the canary's arguments into those that run it as another account, which must reach the scratch folder. */
  readonly wrap?: (argv: readonly string[]) => readonly string[];
}

const canaryMaxMs = 10_000;
const canaryText = "sand-canary-alone";
/** Succeeds only where the namespace is fresh (a low pid), the mask holds and the workspace can be written. */
const canaryScript = `test "$$" -lt 50 && test ! -e masked/secret && : > written && printf %s ${canaryText}`;

export async function probeSandbox(options: ProbeOptions): Promise<SandboxProbe> {
  const program = findProgram("bwrap", options.searchPath);
  if (program === undefined)
    return { works: false, missing: "the program bwrap (bubblewrap) is not installed" };
  const scratch = await mkdtemp(join(options.scratchRoot, "sandbox-probe-"));
  try {
    return await runCanary(program, scratch, options.wrap ?? ((argv) => argv));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function runCanary(
  program: string,
  scratch: string,
  wrap: (argv: readonly string[]) => readonly string[],
): Promise<SandboxProbe> {
  const [workspace, temporary] = [join(scratch, "workspace"), join(scratch, "tmp")];
  const masked = join(workspace, "masked");
  await mkdir(masked, { recursive: true });
  await mkdir(temporary);
  await writeFile(join(masked, "secret"), "x");
  for (const folder of [scratch, workspace, temporary]) await chmod(folder, 0o777);
  const args = planSandbox(
    {
      workspaceRoot: workspace,
      temporaryRoot: temporary,
      writableRoots: [],
      readOnlyRoots: [],
      masked: [{ path: masked, kind: "folder" }],
    },
    { cwd: workspace, argv: ["/bin/sh", "-c", canaryScript], infoFd: null },
  );
  const [started = program, ...rest] = wrap([program, ...args]);
  return await new Promise((resolve) => {
    execFile(started, rest, { timeout: canaryMaxMs, env: {} }, (error, stdout, stderr) => {
      if (error === null && stdout === canaryText) resolve({ works: true, program });
      else resolve({ works: false, missing: nameMissing(stderr) });
    });
  });
}

/** Puts bubblewrap's own complaint into words that say what to change. */
export function nameMissing(complaint: string): string {
  const line = complaint
    .split("\n")
    .find((candidate) => candidate.startsWith("bwrap:"))
    ?.slice("bwrap:".length)
    .trim();
  if (line === undefined) return "bubblewrap started, but its canary did not see itself alone";
  if (/namespace|uid map|user_ns|clone|unshare/iu.test(line))
    return `user namespaces are not allowed here (${line})`;
  if (/proc/iu.test(line)) return `a fresh /proc can't be mounted here (${line})`;
  return `bubblewrap can't set up its mounts here (${line})`;
}

function findProgram(name: string, searchPath: string): string | undefined {
  return searchPath
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us: the next folder may have it.
    return false;
  }
}
