/** What the ledger makes of the intents that it finds, over a real folder. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimExecution } from "../src/keeper/claim-execution.ts";
import { type Ledger, openLedger } from "../src/ledger/ledger.ts";
import type { StartRecord } from "../src/ledger/records.ts";

let root: string;
let lines: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "sand-ledger-"));
  lines = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (): Ledger =>
  openLedger({
    dataRoot: root,
    enabled: true,
    clock: systemClock,
    log: createLogger({ name: "ledger", level: "info", write: (line) => lines.push(line) }),
  });
const folderOf = (id: string): string => join(root, "executions", id);

const intent = (executionId: string): StartRecord => ({
  ...{ version: 1, executionId, digest: "d", acceptedAtMs: 1, background: false },
  lineage: { agentId: "a", turnId: "t" },
  launch: { argv: ["true"], env: {}, cwd: "/", stdin: false, killMs: 0, sandboxed: false },
});

test("an intent is there whole when it is accepted, and found by the next start", async () => {
  await open().add(intent("one"));
  expect(readdirSync(folderOf("one"))).toEqual(["start.json"]);
  expect(open().find("one")?.start).toMatchObject(intent("one"));
});

test("a terminal that its daemon didn't live to begin is lost, with the reason, and no keeper can take it any more", async () => {
  const { launch, ...rest } = intent("terminal");
  await open().add({ ...rest, launch: { ...launch, terminal: { cols: 80, rows: 24 } } });
  await open().add(intent("command"));
  const ledger = open();
  expect(ledger.find("terminal")).toMatchObject({
    exit: { outcome: "unknown", reason: "the daemon ended before the terminal was begun" },
    closed: { stdoutBytes: 0 },
  });
  expect(claimExecution(folderOf("terminal"))).toBe(false);
  // A command's intent is its caller's to ask for again.
  expect(ledger.find("command")?.claim).toBeUndefined();
  expect(claimExecution(folderOf("command"))).toBe(true);
});

test("a torn intent that nobody claimed was never accepted: it goes, and its id can be asked for", async () => {
  mkdirSync(folderOf("torn"), { recursive: true });
  writeFileSync(join(folderOf("torn"), "start.json"), '{"version":1,"execu');
  const ledger = open();
  expect(ledger.list()).toEqual([]);
  expect(existsSync(folderOf("torn"))).toBe(false);
  await ledger.add(intent("torn"));
  expect(open().find("torn")?.start).toMatchObject(intent("torn"));
});

test("an intent that can't be read behind a claim is damage: it stays, is told, and holds up no other", async () => {
  await open().add(intent("good"));
  mkdirSync(folderOf("bad"), { recursive: true });
  writeFileSync(join(folderOf("bad"), "start.json"), "");
  writeFileSync(join(folderOf("bad"), "claim.json"), "{}");
  expect(open().find("good")).toBeDefined();
  expect(existsSync(folderOf("bad"))).toBe(true);
  expect(lines.join("")).toContain("execution.damaged");
});

test("an id that is asked for again while its old execution is being removed gets a place of its own", async () => {
  const ledger = open();
  const old = await ledger.add(intent("again"));
  const removing = ledger.remove(old);
  const fresh = await ledger.add(intent("again"));
  await removing;
  expect(existsSync(join(fresh.folder, "start.json"))).toBe(true);
  expect(ledger.find("again")).toBe(fresh);
});

test("an intent that can't be put on disk leaves nothing behind", async () => {
  const ledger = open();
  // Its JSON can't be made, which is as late as a failure can come before the disk's own.
  const broken = { ...intent("half"), acceptedAtMs: 1n as unknown as number };
  await expect(ledger.add(broken)).rejects.toThrow();
  expect(ledger.find("half")).toBeUndefined();
  await ledger.add(intent("half"));
  expect(ledger.find("half")).toBeDefined();
});

/** The machine was restarted since: the record names another boot. */
function ageByOneBoot(id: string): void {
  const path = join(folderOf(id), "start.json");
  const record = JSON.parse(readFileSync(path, "utf8")) as StartRecord;
  writeFileSync(path, JSON.stringify({ ...record, bootId: "an earlier boot" }));
}

test("an unclaimed intent of this boot was never started, so it can be", async () => {
  await open().add(intent("pending"));
  const found = open().find("pending");
  expect([found?.claim, found?.exit, found?.closed]).toEqual([undefined, undefined, undefined]);
});

test.each(["no claim", "an empty claim"])(
  "with %s an intent of an earlier boot may have been started: it is unknown and never given away",
  async (left) => {
    await open().add(intent("cut"));
    ageByOneBoot("cut");
    if (left === "an empty claim") writeFileSync(join(folderOf("cut"), "claim.json"), "");
    const found = open().find("cut");
    expect(found?.exit).toMatchObject({ outcome: "unknown" });
    expect(found?.closed).toBeDefined();
    // With a claim a repeated start is answered and not given to a keeper.
    expect(found?.claim).toMatchObject({ pid: process.pid });
    expect(open().find("cut")?.exit).toEqual(found?.exit);
  },
);
