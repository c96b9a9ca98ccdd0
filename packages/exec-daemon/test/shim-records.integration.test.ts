/** In which order the native shim puts an execution on disk, and that it says what it has put there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseKeeper } from "../src/keeper/choose-keeper.ts";
import { createKeeperPool } from "../src/keeper/keeper-pool.ts";
import type { StartRecord, ToldRecord } from "../src/ledger/records.ts";
import { until } from "./daemon-process.ts";
import { hasShim, type ShimWorld, startShimWorld } from "./shim-world.ts";

const strace = "/usr/bin/strace";

const intent = (executionId: string, script: string): StartRecord => ({
  ...{ version: 1, executionId, digest: "", acceptedAtMs: 0, background: false },
  lineage: { agentId: "", turnId: "" },
  launch: {
    ...{ argv: ["/bin/sh", "-c", script], env: {}, cwd: "/" },
    ...{ stdin: false, killMs: 0, sandboxed: false },
  },
});

describe.skipIf(!hasShim)("the records of the native shim", () => {
  let world: ShimWorld;
  beforeAll(async () => {
    world = await startShimWorld();
  });
  afterAll(() => world.dispose());

  test("a run is known from its start to its end without a look at its folder", async () => {
    const execution = await world.ledger.add(intent("told", "exit 3"), "keeper");
    const told: ToldRecord[] = [];
    const learn = (record: ToldRecord): void => {
      told.push(record);
      execution.learn(record);
    };
    const { finished } = await world.keepers.give({ ...execution, learn });
    expect(await finished).toBe("closed");
    expect(told.map(({ file }) => file)).toEqual(["claim.json", "started.json", "exit.json", "closed.json"]);
    expect(execution.exit).toMatchObject({ outcome: "known", exit: { code: 3 } });
    // What was said is what is there for the next daemon.
    for (const { file, record } of told)
      expect(JSON.parse(readFileSync(join(execution.folder, file), "utf8"))).toEqual(record);
  });

  test.skipIf(!existsSync(strace))(
    "nothing is claimed before its intent is on the disk, and nothing runs before its claim",
    { timeout: 120_000 },
    async () => {
      const trace = join(world.dataRoot, "trace");
      const { pool } = await chooseKeeper({
        ...{ mode: "shim", dataRoot: world.dataRoot, selfCommand: [process.execPath], env: {} },
      });
      const options = ["-f", "-A", "-e", "trace=fsync,linkat,execve", "-y", "-o", trace];
      const traced = createKeeperPool({ ...pool, command: [strace, ...options, ...pool.command] });
      const execution = await world.ledger.add(intent("traced", "exit 0"), "keeper");
      const { finished } = await traced.give(execution);
      expect(await finished).toBe("closed");
      traced.close();
      // Three waits side by side.
      const intended = ["sync above", "sync folder", "sync start.json"];
      // The end is shown first, and put on the disk when nothing else is to do.
      const rest = ["claim", "run", "sync exit.json", "sync closed.json", "sync folder"];
      // Its spares are traced into the same file and do nothing.
      const steps = await until("the end is synced", () => {
        const seen = stepsOf(readFileSync(trace, "utf8"), execution.folder);
        return seen.length >= intended.length + rest.length ? seen : undefined;
      });
      expect([...steps.slice(0, 3).sort(), ...steps.slice(3)]).toEqual([...intended, ...rest]);
    },
  );
});

/** What concerns this execution, in the words of the test. */
function stepsOf(trace: string, folder: string): string[] {
  return trace.split("\n").flatMap((line) => {
    if (line.includes("linkat(") && line.includes('"claim.json"')) return ["claim"];
    if (line.includes('execve("/bin/sh"')) return ["run"];
    const synced = /fsync\(\d+<([^>]+)>/u.exec(line)?.[1];
    if (synced === undefined) return [];
    if (synced === folder) return ["sync folder"];
    if (folder.startsWith(`${synced}/`)) return ["sync above"];
    return synced.startsWith(`${folder}/`) ? [`sync ${synced.slice(folder.length + 1)}`] : [];
  });
}
