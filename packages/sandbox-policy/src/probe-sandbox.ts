/**
 * Finds out by trying whether bubblewrap encloses a command here, and with which of its pieces. That the program exists
 * proves little: containers often forbid user namespaces or mounting `/proc`, and only a run shows it.
 *
 * One canary tries everything at once, since that is what mostly works. Only where it fails are the pieces tried one by
 * one, to name the one that is missing. The canary must see itself as an early process of a namespace of its own,
 * nothing in a masked folder, a protected folder that it can't write, one filter more than we have ourselves, and
 * no network but loopback.
 */
import { spawn } from "node:child_process";
import { accessSync, closeSync, constants, openSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { SandboxProbe, Technique } from "./decide-sandbox.ts";
import { planSandbox } from "./plan-sandbox.ts";

export interface ProbeOptions {
  /** where programs are looked up, as in PATH */
  readonly searchPath: string;
  /** a folder of ours for the canary's files */
  readonly scratchRoot: string;
  /** the compiled filter of system calls */
  readonly filterFile: string;
  /** Turns the canary's arguments into those that run it as another account, which must reach the scratch folder. */
  readonly wrap?: (argv: readonly string[]) => readonly string[];
}

interface Pieces {
  readonly filter: boolean;
  readonly network: boolean;
}

const canaryMaxMs = 10_000;
const outputMaxChars = 16_384;
const canaryText = "sand-canary-alone";
const seccompFd = 3;

export async function probeSandbox(options: ProbeOptions): Promise<SandboxProbe> {
  const program = findProgram("bwrap", options.searchPath);
  if (program === undefined)
    return { works: false, missing: "the program bwrap (bubblewrap) is not installed" };
  const scratch = await mkdtemp(join(options.scratchRoot, "sandbox-probe-"));
  try {
    await makePlace(scratch);
    const attempt = (pieces: Pieces): Promise<Technique> => runCanary(program, scratch, pieces, options);
    const all = await attempt({ filter: true, network: true });
    if (all.works) return { works: true, program, filter: all, network: all };
    const bare = await attempt({ filter: false, network: false });
    if (!bare.works) return bare;
    const [filter, network] = [
      await attempt({ filter: true, network: false }),
      await attempt({ filter: false, network: true }),
    ];
    return { works: true, program, filter, network };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const placeOf = (scratch: string) => ({
  workspace: join(scratch, "workspace"),
  temporary: join(scratch, "tmp"),
  masked: join(scratch, "workspace/masked"),
  closed: join(scratch, "workspace/closed"),
});

async function makePlace(scratch: string): Promise<void> {
  const place = placeOf(scratch);
  for (const folder of [place.masked, place.closed]) await mkdir(folder, { recursive: true });
  await mkdir(place.temporary);
  await writeFile(join(place.masked, "secret"), "x");
  for (const folder of [scratch, place.workspace, place.temporary, place.closed]) await chmod(folder, 0o777);
}

/** Plain shell, without a program that may be missing. */
function canaryScript(pieces: Pieces): string {
  return [
    `test "$$" -lt 50 && test ! -e masked/secret && : > written || exit 1`,
    "(: > closed/x) 2>/dev/null && exit 1",
    ...(pieces.filter
      ? [
          `while read -r name value; do test "$name" != Seccomp_filters: || count=$value; done < /proc/self/status`,
          `test "\${count:-0}" -gt ${countFilters()} || { echo "canary: no filter" >&2; exit 1; }`,
        ]
      : []),
    ...(pieces.network
      ? [
          `lines=0; while read -r line; do lines=$((lines+1)); done < /proc/net/dev`,
          `test "$lines" -le 3 || { echo "canary: network" >&2; exit 1; }`,
        ]
      : []),
    `printf %s ${canaryText}`,
  ].join("\n");
}

async function runCanary(
  program: string,
  scratch: string,
  pieces: Pieces,
  options: ProbeOptions,
): Promise<Technique> {
  const place = placeOf(scratch);
  const args = planSandbox(
    {
      workspaceRoot: place.workspace,
      temporaryRoot: place.temporary,
      writableRoots: [],
      readOnlyRoots: [],
      masked: [{ path: place.masked, kind: "folder" }],
      protectedPaths: [{ path: place.closed, how: "read-only", rule: "canary" }],
      network: { kind: pieces.network ? "none" : "open" },
    },
    {
      cwd: place.workspace,
      argv: ["/bin/sh", "-c", canaryScript(pieces)],
      infoFd: null,
      ...(pieces.filter ? { seccompFd } : {}),
    },
  );
  const wrap = options.wrap ?? ((argv: readonly string[]) => argv);
  const said = await runOnce(wrap([program, ...args]), options.filterFile);
  return said.output === canaryText
    ? { works: true }
    : { works: false, missing: nameMissing(said.complaint, pieces.network && !pieces.filter) };
}

async function runOnce(
  argv: readonly string[],
  filterFile: string,
): Promise<{ readonly output: string; readonly complaint: string }> {
  const [program = "", ...args] = argv;
  const filter = openSync(filterFile, "r");
  const said = { output: "", complaint: "" };
  try {
    const child = spawn(program, args, {
      env: {},
      timeout: canaryMaxMs,
      killSignal: "SIGKILL",
      stdio: ["ignore", "pipe", "pipe", filter],
    });
    const hear = (name: "output" | "complaint") => (text: string) => {
      said[name] = (said[name] + text).slice(0, outputMaxChars);
    };
    child.stdout?.setEncoding("utf8").on("data", hear("output"));
    child.stderr?.setEncoding("utf8").on("data", hear("complaint"));
    await new Promise((resolve) => {
      child.once("error", resolve);
      child.once("close", resolve);
    });
    return said;
  } finally {
    closeSync(filter);
  }
}

/** How many filters we live under ourselves, as in a container. */
function countFilters(): number {
  const line = /^Seccomp_filters:\s*(\d+)$/mu.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(line?.[1] ?? 0);
}

/**
 * Puts bubblewrap's own complaint into words that say what to change. It makes all of its namespaces at once, so which
 * one was refused shows only by what else works: `isNetworkAlone` where it is tried because the rest does.
 */
export function nameMissing(complaint: string, isNetworkAlone: boolean): string {
  const lines = complaint.split("\n");
  if (lines.includes("canary: no filter")) return "the kernel takes no filter of system calls (seccomp) here";
  if (lines.includes("canary: network")) return "a network of its own shows more than loopback";
  const line = lines
    .find((candidate) => candidate.startsWith("bwrap:"))
    ?.slice("bwrap:".length)
    .trim();
  if (line === undefined) return "bubblewrap started, but its canary did not see itself alone";
  if (/seccomp/iu.test(line)) return `a filter of system calls (seccomp) can't be set here (${line})`;
  if (isNetworkAlone || /loopback|RTM_|netlink/iu.test(line))
    return `a network namespace can't be set up here (${line})`;
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
