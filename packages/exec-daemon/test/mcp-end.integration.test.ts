/** The end of a server: all that it started is gone within three seconds, whatever it does (case 58). */
import { spawn } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readProcessIdentity } from "@sand/node-kit";
import { afterEach, describe, expect, test } from "vitest";
import { markerName } from "../src/ledger/execution-folder.ts";
import { until } from "./daemon-process.ts";
import { connect, isAlive, type McpWorld, oddServer, startMcpWorld } from "./mcp-world.ts";

const patientMs = 120_000;
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const goneMaxMs = 3000;
/** Ids of this run alone: other tests of the same machine have servers too. */
const idOf = (name: string): string => `${name}-${process.pid}`;

let world: McpWorld | undefined;
afterEach(async () => {
  await world?.dispose();
  world = undefined;
});

async function startWorld(env: Record<string, string> = {}): Promise<McpWorld> {
  const own = await startMcpWorld(env);
  world = own;
  // In the workspace it is seen from within a sandbox, wherever this checkout lies.
  copyFileSync(oddServer, join(own.daemon.workspace, "odd.mjs"));
  return own;
}

const oddHere = (...flags: readonly string[]): readonly string[] => [process.execPath, "odd.mjs", ...flags];

/** Every process whose first environment or argument list names this server. */
function familyOf(mark: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter(
      (pid) => isAlive(pid) && (read(pid, "environ").includes(mark) || read(pid, "cmdline").includes(mark)),
    );
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}

const kinds = [
  { name: "outside of a sandbox", env: { SAND_SANDBOX: "off" }, skip: false },
  { name: "in a sandbox", env: { SAND_SANDBOX: "required" }, skip: false },
  {
    name: "with an account of its own (needs root)",
    env: { SAND_SANDBOX: "off", SAND_BOX_COMMAND_UID: String(nobody) },
    skip: !isRoot,
  },
] as const;

describe.each(kinds)(
  "a server that ignores the end of its input and TERM, and has a family, $name",
  ({ env, skip }) => {
    test.skipIf(skip)(
      "is gone with all of it within three seconds of CloseServer",
      async () => {
        const own = await startWorld(env);
        openFor(own);
        const took: number[] = [];
        // A loaded machine may be late once; it isn't late each time.
        for (let round = 0; round < 3 && !took.some((ms) => ms < goneMaxMs); round += 1) {
          await own.load({ id: idOf("deaf"), command: oddHere("--deaf", "--family") });
          await own.say(idOf("deaf"), "pid");
          const family = await until("the family is there", () => {
            const found = familyOf(`mcp:${idOf("deaf")}:`);
            return found.length >= 5 ? found : undefined;
          });
          const beforeMs = performance.now();
          await own.mcp.closeServer({ serverId: idOf("deaf") });
          took.push(performance.now() - beforeMs);
          // Not only those that were seen.
          expect([...family, ...familyOf(`mcp:${idOf("deaf")}:`)].filter(isAlive)).toEqual([]);
        }
        expect(Math.min(...took)).toBeLessThan(goneMaxMs);
      },
      patientMs,
    );
  },
);

/** What the other account has to reach: the folder, and the programs of the test. */
function openFor(own: McpWorld): void {
  if (!isRoot) return;
  chmodSync(own.daemon.folder, 0o711);
  chownSync(own.daemon.workspace, nobody, nobody);
}

test(
  "a server that ends well on the end of its input isn't killed",
  async () => {
    const own = await startWorld();
    await own.load({ id: idOf("polite"), command: oddHere() });
    await own.say(idOf("polite"), "pid");
    const ending = new AbortController();
    const problems: string[] = [];
    const watching = (async () => {
      for await (const { change } of own.mcp.watchServers({}, { signal: ending.signal }))
        if (change.case === "state") problems.push(change.value.problem);
    })().catch(() => undefined);
    await own.mcp.closeServer({ serverId: idOf("polite") });
    await until("the end is told", () => (problems.includes("it was closed") ? true : undefined));
    ending.abort();
    await watching;
  },
  patientMs,
);

test.each(kinds.slice(0, 2))(
  "what a killed daemon left behind is ended by the next one, $name",
  async ({ env }) => {
    const own = await startWorld(env);
    await own.load({ id: idOf("orphan"), command: oddHere("--deaf", "--family") });
    await own.say(idOf("orphan"), "pid");
    await until("the family is there", () =>
      familyOf(`mcp:${idOf("orphan")}:`).length >= 5 ? true : undefined,
    );
    await own.daemon.kill();
    const next = connect(await own.daemon.again());
    world = next;
    await until("all of it is gone", () =>
      familyOf(`mcp:${idOf("orphan")}:`).length === 0 ? true : undefined,
    );
    expect((await next.mcp.listServers({})).servers).toEqual([]);
  },
  patientMs,
);

test(
  "what is left of a sandbox that was killed while it was set up is found by its marker",
  async () => {
    const own = await startWorld();
    await own.daemon.kill();
    const marker = `mcp:${idOf("half")}:0`;
    const env = { [markerName]: marker };
    const leader = spawn("/bin/sleep", ["300"], { stdio: "ignore" });
    const left = spawn("/bin/sleep", ["301"], { stdio: "ignore", env });
    const trace = { leader: readProcessIdentity(leader.pid ?? 0), marker, sandboxed: true };
    leader.kill("SIGKILL");
    writeFileSync(join(own.daemon.dataRoot, "mcp/running/half.json"), JSON.stringify(trace));
    world = connect(await own.daemon.again());
    await until("it is ended", () => (left.signalCode === null ? undefined : true));
  },
  patientMs,
);

test(
  "a daemon that is told to end takes its servers along",
  async () => {
    const own = await startWorld();
    await own.load(
      { id: idOf("one"), command: oddHere("--deaf", "--family") },
      { id: idOf("two"), command: oddHere() },
    );
    await Promise.all([own.say(idOf("one"), "pid"), own.say(idOf("two"), "pid")]);
    await until("the family is there", () =>
      familyOf(`mcp:${idOf("one")}:`).length >= 5 ? true : undefined,
    );
    own.daemon.child.kill("SIGTERM");
    await until("the daemon is gone", () => (own.daemon.child.exitCode === null ? undefined : true));
    expect(["one", "two"].flatMap((name) => familyOf(`mcp:${idOf(name)}:`))).toEqual([]);
  },
  patientMs,
);
