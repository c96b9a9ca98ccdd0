/** The process of the box store, killed at each of its failpoints: what is listed is whole, and the next one goes on. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "../packages/testkit/src/index.ts";
import { boxStoreFailpoints, findBundles } from "../packages/testkit/src/proofs/door.ts";

const { host } = findBundles("test");
const noS3 = { endpoint: null, region: null, accessKeyId: null, secretAccessKey: null, sessionToken: null };

let folder: TempFolder;
beforeEach(async () => {
  folder = await createTempFolder("box-store-crash");
});
afterEach(() => folder.remove());

interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly answer: Readonly<Record<string, unknown>> | undefined;
}

/** Runs the role once, as the host and `sand` do. */
async function run(call: Readonly<Record<string, unknown>>, failpoint = ""): Promise<Ended> {
  const child = spawn(process.execPath, [host, "box-store"], {
    env: { PATH: process.env.PATH, SAND_FAILPOINT: failpoint },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const store = { address: join(folder.path, "store"), s3: noS3 };
  child.stdin.write(`${JSON.stringify({ root: join(folder.path, "root"), store, ...call })}\n`);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const [, signal] = await once(child, "close");
  const lines = text.split("\n").filter((line) => line !== "");
  const last: unknown = lines.length === 0 ? undefined : JSON.parse(lines.at(-1) ?? "");
  return { signal, answer: typeof last === "object" && last !== null ? { ...last } : undefined };
}

const snapshot = { kind: "snapshot", keep: 2, takeOver: false, gentle: false };
const restore = (root: string, dryRun = false) => ({
  kind: "restore",
  root: join(folder.path, root),
  at: null,
  dryRun,
});

function write(round: number): void {
  const agent = join(folder.path, "root", "agents", "ada");
  mkdirSync(agent, { recursive: true });
  writeFileSync(join(agent, "profile.json"), JSON.stringify({ round }));
}

const restoredRound = (root: string): unknown =>
  JSON.parse(readFileSync(join(folder.path, root, "agents", "ada", "profile.json"), "utf8"));

test.each(boxStoreFailpoints.filter((name) => name.startsWith("snapshot.")))(
  "killed at %s, the store has whole snapshots only and takes the next one",
  async (failpoint) => {
    for (let round = 0; round < 3; round += 1) {
      write(round);
      expect((await run(snapshot)).answer).toMatchObject({ kind: "snapshot", isNew: true, problem: null });
    }
    write(3);
    expect((await run(snapshot, failpoint)).signal).toBe("SIGKILL");
    expect((await run(restore("looked-at", true))).answer).toMatchObject({ kind: "restored" });
    expect((await run(snapshot)).answer).toMatchObject({ kind: "snapshot", problem: null });
    write(4);
    expect((await run(snapshot)).answer).toMatchObject({ kind: "snapshot", isNew: true, problem: null });
    expect((await run(restore("restored"))).answer).toMatchObject({ kind: "restored" });
    expect(restoredRound("restored")).toEqual({ round: 4 });
    expect(readdirSync(join(folder.path, "store", "manifests")).length).toBe(2);
    expect(readdirSync(join(folder.path, "store", "objects")).length).toBe(2);
  },
);

test("killed at restore.written, nothing is there, and the next restore goes on from it", async () => {
  write(1);
  await run(snapshot);
  expect((await run(restore("restored"), "restore.written")).signal).toBe("SIGKILL");
  expect(existsSync(join(folder.path, "restored"))).toBe(false);
  expect((await run(restore("restored"))).answer).toMatchObject({ kind: "restored" });
  expect(restoredRound("restored")).toEqual({ round: 1 });
  expect(readdirSync(folder.path).filter((name) => name.startsWith(".restored"))).toEqual([]);
});

test("a restore whose caller goes away ends", async () => {
  write(1);
  await run(snapshot);
  const child = spawn(process.execPath, [host, "box-store"], {
    stdio: ["pipe", "ignore", "inherit"],
    env: {},
  });
  child.stdin.end();
  const [code] = await once(child, "close");
  expect(code).toBe(130);
  rmSync(join(folder.path, "root"), { recursive: true });
});
