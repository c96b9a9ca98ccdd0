import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@sand/node-kit";
import { findProcessesOf, readLines, readResidentBytes, waitUntil } from "@sand/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { invokeTool } from "./invoke-tool.ts";
import { createToolWorld, type ToolWorld } from "./tool-world.ts";

let world: ToolWorld;

beforeAll(async () => {
  world = await createToolWorld();
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const inWorkspace = (name: string): string => join(world.workspace, name);

test("a command runs in the workspace and tells its exit code, and both outputs in their order", async () => {
  const command = "pwd; echo to-stderr >&2; sleep 0.1; echo last; exit 3";
  const settled = await invokeTool(world.tools, "Shell", { command }, { id: "order" });
  expect([settled.outcome, settled.text]).toEqual([
    "ok",
    `exit code 3\n${world.workspace}\nto-stderr\nlast\n`,
  ]);
});

test("fifty megabytes of output are cut at capture, with the host's memory bounded and the rest counted", async () => {
  const before = readResidentBytes(process.pid);
  let peak = 0;
  let shown = 0;
  const settled = await invokeTool(
    world.tools,
    "Shell",
    { command: "yes | head -c 50000000" },
    {
      id: "flood",
      onOutput: (text) => {
        shown += text.length;
        peak = Math.max(peak, readResidentBytes(process.pid));
      },
    },
  );
  expect([settled.outcome, settled.outputHandle]).toEqual(["ok", "exec:flood"]);
  expect(settled.details).toMatchObject({ exitCode: 0, totalBytes: 50_000_000 });
  expect(Buffer.byteLength(settled.text)).toBeLessThan(34 * 1024);
  expect(shown).toBeLessThan(4 * 1024 * 1024);
  expect(Math.max(peak, readResidentBytes(process.pid)) - before).toBeLessThan(128 * 1024 * 1024);
  const end = await invokeTool(world.tools, "ReadFile", { handle: "exec:flood", offset: 49_999_990 });
  expect(end.text).toBe("exec:flood (exit code 0): bytes 49999990 to 50000000 of 50000000\ny\ny\ny\ny\ny\n");
});

test("wide characters that are written byte by byte arrive whole", async () => {
  const command = `for byte in '\\344' '\\275' '\\240' '\\360' '\\237' '\\230' '\\200'; do printf "$byte"; sleep 0.03; done`;
  const settled = await invokeTool(world.tools, "Shell", { command }, { id: "bytes" });
  expect(settled.text).toBe("exit code 0\n你😀");
  expect(settled.details).toMatchObject({ lossy: false });
});

test("bytes that aren't text are said to be replaced", async () => {
  const settled = await invokeTool(
    world.tools,
    "Shell",
    { command: "printf 'a\\377b\\000c'" },
    { id: "lossy" },
  );
  expect(settled.text).toContain("a\ufffdb\u2400c");
  expect(settled.details).toMatchObject({ lossy: true });
});

test("live output comes while the command runs", async () => {
  const go = inWorkspace("go");
  const settled = await invokeTool(
    world.tools,
    "Shell",
    { command: `echo waiting; until [ -e ${go} ]; do sleep 0.02; done; echo went` },
    {
      id: "live",
      // Only a live line lets the command end.
      onOutput: (text) => {
        if (text.includes("waiting")) void writeFile(go, "");
      },
    },
  );
  expect(settled.text).toBe("exit code 0\nwaiting\nwent\n");
});

test("an interrupted command leaves no process, not even a grandchild that ignores TERM", async () => {
  const interrupt = new AbortController();
  const command = "sh -c 'trap \"\" TERM; echo begun; while :; do sleep 0.1; done' & sleep 1000";
  const settled = await invokeTool(
    world.tools,
    "Shell",
    { command },
    {
      id: "interrupted",
      signal: interrupt.signal,
      onOutput: (text) => {
        if (text.includes("begun")) interrupt.abort();
      },
    },
  );
  expect([settled.outcome, settled.text.includes("begun\n")]).toEqual(["interrupted", true]);
  await waitUntil(
    "the group to be gone",
    () => findProcessesOf("SAND_EXECUTION_ID=interrupted").length === 0,
    { deadlineMs: 10_000 },
  );
});

test("a command that exceeds its limit is stopped and settles as an error with its output", async () => {
  const settled = await invokeTool(
    world.tools,
    "Shell",
    { command: "echo begun; sleep 1000", timeoutMs: 500 },
    { id: "late" },
  );
  expect([settled.outcome, settled.text]).toEqual([
    "error",
    "timed out after 0.5 s: the command and everything in its group was stopped\nbegun\n",
  ]);
});

test("a resumed call collects the whole output and the command has run once", async () => {
  const count = inWorkspace("count");
  const args = { command: `echo ran >> ${count}; echo begun; sleep 0.5; echo done` };
  const first = invokeTool(world.tools, "Shell", args, { id: "resumed" });
  await waitUntil("the command to begin", () => readLines(count).length === 1, { deadlineMs: 10_000 });
  const [whileRunning, one] = await Promise.all([
    invokeTool(world.tools, "Shell", args, { id: "resumed", resumed: true }),
    first,
  ]);
  const afterwards = await invokeTool(world.tools, "Shell", args, { id: "resumed", resumed: true });
  expect([one.text, whileRunning, afterwards]).toEqual(["exit code 0\nbegun\ndone\n", one, one]);
  expect(readLines(count)).toEqual(["ran"]);
});

test("a command outlives the daemon and is collected by the same call, run once", async () => {
  const count = inWorkspace("count-daemon");
  const go = inWorkspace("go-daemon");
  const args = {
    command: `echo ran >> ${count}; echo before; until [ -e ${go} ]; do sleep 0.02; done; echo after`,
  };
  const { promise: attached, resolve } = Promise.withResolvers<void>();
  const running = invokeTool(world.tools, "Shell", args, { id: "outlives", onOutput: () => resolve() });
  await attached;
  await world.restartDaemon();
  await writeFile(go, "");
  expect((await running).text).toBe("exit code 0\nbefore\nafter\n");
  expect(readLines(count)).toEqual(["ran"]);
});

test("a daemon that is killed at any moment of a start makes no second run when the call is asked again", async () => {
  const args = (count: string) => ({ command: `echo ran >> ${count}; sleep 0.2; echo done` });
  for (let round = 0; round < 3; round += 1) {
    const count = inWorkspace(`count-start-${round}`);
    // As the turn loop does: what is thrown means that the outcome isn't known, so the same call is asked again.
    const first = invokeTool(world.tools, "Shell", args(count), { id: `start-${round}` }).catch(
      (error: unknown) => error,
    );
    // Not a wait for something: it moves the kill to another moment of the start.
    await systemClock.sleep(round * 20);
    await world.restartDaemon();
    const answered = await first;
    if (answered instanceof Error) expect(answered).toMatchObject({ code: "box/unavailable" });
    const settled = await invokeTool(world.tools, "Shell", args(count), {
      id: `start-${round}`,
      resumed: true,
    });
    expect([settled.text, readLines(count)]).toEqual(["exit code 0\ndone\n", ["ran"]]);
  }
});

test("of parallel calls each settles on its own", async () => {
  const [missing, fine, refused] = await Promise.all([
    invokeTool(world.tools, "Shell", { command: "no-such-program-here" }, { id: "p1" }),
    invokeTool(world.tools, "Shell", { command: "sleep 0.2; echo fine" }, { id: "p2" }),
    invokeTool(world.tools, "ReadFile", { path: "no-such-file" }, { id: "p3" }),
  ]);
  expect(missing?.text).toContain("exit code 127 (command not found)\n");
  expect([fine?.text, refused?.outcome, refused?.details]).toEqual([
    "exit code 0\nfine\n",
    "error",
    { code: "file/not-found" },
  ]);
});

test("a background command returns at once, is read by its handle, and is listed with its agent", async () => {
  const settled = await invokeTool(
    world.tools,
    "Shell",
    { command: "echo serving; sleep 1000", background: true },
    { id: "behind" },
  );
  expect([settled.outcome, settled.outputHandle]).toEqual(["ok", "exec:behind"]);
  const page = await waitUntil(
    "its first line",
    async () => {
      const read = await invokeTool(world.tools, "ReadFile", { handle: "exec:behind" });
      return read.text.includes("serving") ? read.text : undefined;
    },
    { deadlineMs: 10_000 },
  );
  expect(page).toBe("exec:behind (still running): bytes 0 to 8 of 8 so far\nserving\n");
  const listed = (await world.box.list()).find((view) => view.executionId === "behind");
  expect([listed?.lineage.agentId, listed?.background]).toEqual(["sandy", true]);
  const failed = await invokeTool(
    world.tools,
    "Shell",
    { command: "no-such-program", background: true },
    { id: "behind-2" },
  );
  expect(failed.text).toContain("exit code 127");
});

test("a written file is whole, and the same write again is not a second one", async () => {
  const first = await invokeTool(
    world.tools,
    "WriteFile",
    { path: "made/here/a.txt", content: "one\n" },
    { id: "w1" },
  );
  expect([first.outcome, first.text.startsWith("created made/here/a.txt: 4 bytes, sha256 ")]).toEqual([
    "ok",
    true,
  ]);
  await writeFile(inWorkspace("made/here/a.txt"), "somebody else's\n");
  const again = await invokeTool(
    world.tools,
    "WriteFile",
    { path: "made/here/a.txt", content: "one\n" },
    { id: "w1", resumed: true },
  );
  expect([again.outcome, await readFile(inWorkspace("made/here/a.txt"), "utf8")]).toEqual([
    "ok",
    "somebody else's\n",
  ]);
});

test("an edit is applied once, whatever is repeated under its id, also by a restarted daemon", async () => {
  await writeFile(inWorkspace("grow.txt"), "x\n");
  const args = { path: "grow.txt", oldText: "x", newText: "xx", replaceAll: true };
  const first = await invokeTool(world.tools, "EditFile", args, { id: "e1" });
  expect(first.text).toMatch(/^edited grow\.txt: 1 place, line 1, sha256 [0-9a-f]{64}$/);
  expect((await invokeTool(world.tools, "EditFile", args, { id: "e1", resumed: true })).outcome).toBe("ok");
  await world.restartDaemon();
  expect((await invokeTool(world.tools, "EditFile", args, { id: "e1", resumed: true })).outcome).toBe("ok");
  expect(await readFile(inWorkspace("grow.txt"), "utf8")).toBe("xx\n");
  await writeFile(inWorkspace("grow.txt"), "xx and theirs\n");
  const late = await invokeTool(world.tools, "EditFile", args, { id: "e1", resumed: true });
  expect([late.outcome, await readFile(inWorkspace("grow.txt"), "utf8")]).toEqual([
    "unknown",
    "xx and theirs\n",
  ]);
});

test("a resumed edit that never reached the box is applied, and an edit under an old digest is refused", async () => {
  await writeFile(inWorkspace("edit.txt"), "a\r\nold\r\n");
  const args = { path: "edit.txt", oldText: "old", newText: "new" };
  expect((await invokeTool(world.tools, "EditFile", args, { id: "e2", resumed: true })).outcome).toBe("ok");
  const read = await invokeTool(world.tools, "ReadFile", { path: "edit.txt" });
  expect(read.text).toContain("edit.txt: lines 1-2 of 2, 8 bytes, sha256 ");
  const expectedHash = String(read.details.sha256);
  await writeFile(inWorkspace("edit.txt"), "a\nnew\nchanged\n");
  const stale = await invokeTool(
    world.tools,
    "EditFile",
    { path: "edit.txt", oldText: "new", newText: "x", expectedHash },
    { id: "e3" },
  );
  expect([stale.outcome, await readFile(inWorkspace("edit.txt"), "utf8")]).toEqual([
    "error",
    "a\nnew\nchanged\n",
  ]);
});

test("files are listed, found by pattern and searched", async () => {
  await invokeTool(
    world.tools,
    "WriteFile",
    { path: "tree/src/a.ts", content: "one\nneedle here\nthree\n" },
    { id: "t1" },
  );
  await invokeTool(world.tools, "WriteFile", { path: "tree/b.md", content: "Needle too\n" }, { id: "t2" });
  const listed = await invokeTool(world.tools, "ListFiles", { path: "tree", depth: 2 });
  expect(listed.text.split("\n")).toEqual(["tree/b.md  11 bytes", "tree/src/", "tree/src/a.ts  22 bytes"]);
  expect((await invokeTool(world.tools, "Glob", { pattern: "**/*.ts", path: "tree" })).text).toBe(
    "tree/src/a.ts",
  );
  expect((await invokeTool(world.tools, "Grep", { pattern: "needle", path: "tree", context: 1 })).text).toBe(
    "tree/src/a.ts-1-one\ntree/src/a.ts:2:needle here\ntree/src/a.ts-3-three",
  );
  const both = await invokeTool(world.tools, "Grep", {
    pattern: "needle",
    path: "tree",
    ignoreCase: true,
    glob: "*.md",
  });
  expect(both.text).toBe("tree/b.md:1:Needle too");
  expect((await invokeTool(world.tools, "Grep", { pattern: "(" })).outcome).toBe("error");
  expect((await invokeTool(world.tools, "Grep", { pattern: "nowhere-at-all-7" })).text).toBe("no matches");
});

test("in a sandbox an interrupted command leaves no process either", async () => {
  await using fenced = await createToolWorld("required");
  const interrupt = new AbortController();
  const settled = await invokeTool(
    fenced.tools,
    "Shell",
    { command: "setsid sleep 1000 & echo begun; sleep 1000" },
    {
      id: "fenced",
      signal: interrupt.signal,
      onOutput: () => interrupt.abort(),
    },
  );
  expect([settled.outcome, settled.text.includes("begun\n")]).toEqual(["interrupted", true]);
  await waitUntil("all of it to be gone", () => findProcessesOf("SAND_EXECUTION_ID=fenced").length === 0, {
    deadlineMs: 10_000,
  });
});
