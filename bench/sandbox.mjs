/**
 * What our enclosure costs beside bubblewrap itself, in a workspace that is a repository. Two base lines: bubblewrap
 * told to do the same mounts, which shows what planning, the filter and the mount points cost; and bubblewrap with the
 * four mounts that any sandbox has, which shows what the protected paths cost. Planning is in our time: it happens with
 * every run.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { openBoxPolicy } from "../packages/exec-daemon/src/box-policy.ts";
import { parseDaemonConfig } from "../packages/exec-daemon/src/config.ts";
import { encloserOf } from "../packages/exec-daemon/src/enclosure/encloser.ts";
import { planLaunch } from "../packages/exec-daemon/src/processes/plan-launch.ts";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { searchPath } from "./measure/run-process.mjs";
import { line, median } from "./measure/statistics.mjs";

const runsEach = 60;
const program = ["/bin/true"];

export async function benchSandbox({ rounds, report }) {
  await using folder = await createTempFolder("bench-sandbox");
  const workspace = join(folder.path, "workspace");
  mkdirSync(workspace);
  mkdirSync(join(folder.path, "data"));
  execFileSync("git", ["init", "--quiet"], { cwd: workspace });
  const policy = await openBoxPolicy(
    parseDaemonConfig({
      ...{ PATH: searchPath, HOME: folder.path, SAND_SANDBOX: "required" },
      ...{ SAND_DATA_ROOT: join(folder.path, "data"), SAND_BOX_WORKSPACE_ROOT: workspace },
    }),
  );
  const seen = { bare: [], same: [], ours: [], planning: [] };
  for (let round = 0; round < rounds; round += 1) {
    const times = { bare: [], same: [], ours: [], planning: [] };
    for (let run = 0; run < runsEach; run += 1) {
      times.bare.push(await runBare(policy));
      const { ms, planningMs, argv } = await runOurs(policy, `run-${round}-${run}`);
      times.same.push(await timed(withoutFilter(argv), []));
      times.ours.push(ms);
      times.planning.push(planningMs);
    }
    for (const [name, values] of Object.entries(times)) seen[name].push(median(values));
    report(
      `round ${round + 1}: ${Object.values(seen)
        .map((values) => values.at(-1).toFixed(2))
        .join(", ")} ms`,
    );
  }
  return [
    line("enclosed run beside bare bubblewrap with the same mounts", ratio(seen.ours, seen.same), {
      bound: "≤ 1.1×",
      met: (value) => value <= 1.1,
    }),
    line("enclosed run beside bare bubblewrap with four mounts", ratio(seen.ours, seen.bare), {}),
    line("bare bubblewrap with four mounts", seen.bare, { unit: "ms" }),
    line("bare bubblewrap with the same mounts", seen.same, { unit: "ms" }),
    line("enclosed run", seen.ours, { unit: "ms" }),
    line("of it planning", seen.planning, { unit: "ms" }),
  ];
}

const ratio = (one, other) => one.map((value, at) => value / other[at]);

function withoutFilter(argv) {
  const at = argv.indexOf("--seccomp");
  return [...argv.slice(0, at), ...argv.slice(at + 2)];
}

async function runBare({ workspaceRoot, temporaryRoot, decision }) {
  const namespaces = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
  ];
  const mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", temporaryRoot, "/tmp"];
  const rest = ["--bind", workspaceRoot, workspaceRoot, "--chdir", workspaceRoot, "--cap-drop", "ALL"];
  const life = ["--die-with-parent", "--new-session", "--"];
  const shell = ["/bin/sh", "-c", 'exec "$@"', "sh", ...program];
  return await timed([decision.program, ...namespaces, ...mounts, ...rest, ...life, ...shell], []);
}

async function runOurs(policy, processId) {
  const startedMs = performance.now();
  const request = {
    ...{ processId, command: { case: "argv", value: { args: program } }, cwd: "", env: {}, display: "" },
    ...{ tty: false, stdin: false, killMs: 0n },
  };
  const launch = planLaunch(policy, request, { executor: "shell", opener: "keeper" });
  const planningMs = performance.now() - startedMs;
  const ms = await timed(launch.argv, launch.openFiles ?? []);
  const releasingMs = performance.now();
  encloserOf(policy).mountPoints.release(processId);
  return { ms: ms + planningMs + performance.now() - releasingMs, planningMs, argv: launch.argv };
}

async function timed([command, ...args], openFiles) {
  const startedMs = performance.now();
  const files = openFiles.map((path) => openSync(path, "r"));
  const child = spawn(command, args, {
    env: { PATH: searchPath },
    stdio: ["ignore", "ignore", "inherit", "pipe", ...files],
  });
  child.stdio[3].resume();
  const [code] = await once(child, "exit");
  for (const file of files) closeSync(file);
  if (code !== 0) throw new Error(`the run ended with ${code}`);
  return performance.now() - startedMs;
}
