/** Row 38 and 39: links that agents plant, also while an operation is under way, reach nothing outside. */
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { ConnectError } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "./daemon-process.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

async function codeOf(work: Promise<unknown>): Promise<string | null> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return failure === undefined ? "no failure" : ConnectError.from(failure).metadata.get("x-sand-code");
}

/**
 * Turns a name to and fro between a folder and a link, as fast as it can, until it is told to stop. What operations
 * have made or taken away in between is put right at each turn.
 */
const swapper = `
  const { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } = require("node:fs");
  const { workerData } = require("node:worker_threads");
  const stop = new Int32Array(workerData.stop);
  const { name, folder, link, outside } = workerData;
  for (let turns = 0; Atomics.load(stop, 0) === 0 && turns < 5e6; turns += 1) {
    try { symlinkSync(outside, link); } catch {}
    try { mkdirSync(folder); writeFileSync(folder + "/secret", "harmless"); } catch {}
    try { rmSync(name, { recursive: true, force: true }); } catch {}
    try { renameSync(folder, name); } catch {}
    try { renameSync(name, folder); } catch {}
    try { renameSync(link, name); } catch {}
    try { renameSync(name, link); } catch {}
  }
`;

async function whileSwapping(
  paths: { name: string; folder: string; link: string; outside: string },
  work: () => Promise<void>,
): Promise<void> {
  const stop = new SharedArrayBuffer(4);
  const worker = new Worker(swapper, { eval: true, workerData: { ...paths, stop } });
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  try {
    await new Promise((resolve) => worker.once("online", resolve));
    await work();
  } finally {
    Atomics.store(new Int32Array(stop), 0, 1);
    await ended;
  }
}

describe.each(["off", "required"])("with the sandbox %s", (sandbox) => {
  let daemon: TestDaemon;
  let outside: string;
  const inWorkspace = (name: string): string => join(daemon.workspace, name);

  beforeAll(async () => {
    daemon = await startTestDaemon({ SAND_SANDBOX: sandbox });
  });
  afterAll(() => daemon.dispose());
  beforeEach(() => {
    // Not below /tmp, which enclosed commands don't have.
    outside = mkdtempSync(join(homedir(), ".sand-outside-"));
    writeFileSync(join(outside, "secret"), "planted secret");
  });
  afterEach(() => {
    rmSync(outside, { recursive: true, force: true });
    for (const name of readdirSync(daemon.workspace)) rmSync(inWorkspace(name), { recursive: true });
  });

  test("row 38: no verb goes through a link that leads out of the workspace", async () => {
    symlinkSync(outside, inWorkspace("out"));
    symlinkSync(join(outside, "secret"), inWorkspace("file"));
    const { files } = daemon;
    const denied = [
      files.read({ path: "out/secret" }),
      files.read({ path: "file" }),
      files.stat({ path: "out/secret" }),
      files.stat({ path: "file", follow: true }),
      files.list({ path: "out" }),
      files.grep({ path: "out", pattern: "planted" }),
      files.glob({ path: "out", pattern: "*" }),
      files.write({ path: "out/new", data: text("x"), operationId: `${sandbox}-out` }),
      files.write({ path: "file", data: text("x"), operationId: `${sandbox}-file` }),
      files.append({ path: "file", data: text("x") }),
      files.make({ path: "out/folder" }),
      files.move({ path: "out/secret", destination: "taken" }),
      files.move({ path: ".", destination: "out/moved" }),
      files.copy({ path: "out/secret", destination: "taken" }),
      files.remove({ path: "out/secret" }),
      files.uploadPiece({ path: "out/new", uploadId: "u", data: text("x") }),
      files.uploadCommit({ path: "out/new", uploadId: "u", sizeBytes: 0n }),
    ];
    expect(new Set(await Promise.all(denied.map(codeOf)))).toEqual(new Set(["file/denied"]));
    expect(readdirSync(outside)).toEqual(["secret"]);
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("planted secret");
    expect((await files.grep({ path: ".", pattern: "planted" })).lines).toEqual([]);
    // The link itself is the workspace's own, to be seen and taken away.
    expect((await files.stat({ path: "out" })).file?.linkTarget).toBe(outside);
    await files.remove({ path: "out", recursive: true });
    expect(existsSync(join(outside, "secret"))).toBe(true);
  });

  test("row 39: a dangling link and a missing parent behind a link are checked where they would come to be", async () => {
    symlinkSync(join(outside, "not-yet"), inWorkspace("dangling"));
    symlinkSync(join(outside, "no/where"), inWorkspace("nowhere"));
    symlinkSync("dangling", inWorkspace("second"));
    symlinkSync("turn", inWorkspace("turn"));
    for (const [index, path] of ["dangling", "nowhere", "nowhere/deeper", "second", "turn"].entries()) {
      const write = { path, data: text("x"), operationId: `${sandbox}-dangling-${index}` };
      expect(await codeOf(daemon.files.write(write)), path).toBe("file/denied");
      expect(await codeOf(daemon.files.make({ path: `${path}/folder` })), path).toBe("file/denied");
    }
    expect(readdirSync(outside)).toEqual(["secret"]);
    // One that stays in the workspace may come to be.
    symlinkSync("inner", inWorkspace("within"));
    await daemon.files.write({ path: "within", data: text("x"), operationId: `${sandbox}-within` });
    expect(readFileSync(inWorkspace("inner"), "utf8")).toBe("x");
  });

  test("row 38: a folder that is swapped for a link in the middle of it reaches nothing outside", async () => {
    const paths = { name: inWorkspace("turn"), folder: inWorkspace("f"), link: inWorkspace("l"), outside };
    const { files } = daemon;
    const read: string[] = [];
    const outcomes = new Set<string | null>();
    await whileSwapping(paths, async () => {
      // As long as it takes to meet both sides of the race, but for a machine that is too busy to have one.
      const hasMetBoth = (): boolean => outcomes.has("no failure") && outcomes.has("file/denied");
      for (let round = 0; round < 60 || (round < 400 && !hasMetBoth()); round += 1) {
        const operationId = `${sandbox}-race-${round}`;
        const work = [
          files.read({ path: "turn/secret" }).then(({ data }) => read.push(new TextDecoder().decode(data))),
          files.write({ path: "turn/written", data: text("x"), operationId }),
          files.append({ path: "turn/appended", data: text("x") }),
          files.make({ path: `turn/made-${round}` }),
          files.copy({ path: "turn/secret", destination: `copy-${round}` }),
          files.move({ path: "turn/written", destination: "turn/renamed", overwrite: true }),
          files.remove({ path: "turn/secret-not", recursive: true }),
          files.remove({ path: `turn/made-${round - 1}`, recursive: true }),
          files.list({ path: "turn", depth: 3 }),
        ];
        for (const code of await Promise.all(work.map(codeOf))) outcomes.add(code);
      }
    });
    expect(readdirSync(outside)).toEqual(["secret"]);
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("planted secret");
    expect(read.filter((content) => content.includes("planted"))).toEqual([]);
    const copies = readdirSync(daemon.workspace).filter((name) => name.startsWith("copy-"));
    const contents = copies.map((name) => readFileSync(inWorkspace(name), "utf8"));
    expect(contents.filter((content) => content.includes("planted"))).toEqual([]);
  }, 120_000);

  test("row 38: a folder that is swapped for a link while it is removed or copied loses and tells nothing outside", async () => {
    const { files } = daemon;
    const paths = { name: inWorkspace("turn"), folder: inWorkspace("f"), link: inWorkspace("l"), outside };
    await whileSwapping(paths, async () => {
      for (let round = 0; round < 100; round += 1) {
        const work = [
          files.remove({ path: "turn", recursive: true }),
          files.copy({ path: "turn", destination: `copies/${round}` }),
          files.remove({ path: "turn", recursive: true }),
        ];
        await Promise.all(work.map(codeOf));
      }
    });
    expect(readdirSync(outside)).toEqual(["secret"]);
    const copies = existsSync(inWorkspace("copies")) ? readdirSync(inWorkspace("copies")) : [];
    // A copied link is a link; what is a folder holds nothing of the outside.
    const folders = copies.filter((name) => lstatSync(inWorkspace(`copies/${name}`)).isDirectory());
    const contents = folders
      .map((name) => inWorkspace(`copies/${name}/secret`))
      .flatMap((path) => (existsSync(path) ? [readFileSync(path, "utf8")] : []));
    expect(contents.filter((content) => content.includes("planted"))).toEqual([]);
  }, 120_000);
});
