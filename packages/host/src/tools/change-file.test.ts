import { createHash } from "node:crypto";
import { createVirtualClock } from "@sand/testkit";
import { expect, test } from "vitest";
import { invokeTool } from "../../test/invoke-tool.ts";
import { createScriptedBox } from "../../test/scripted-box.ts";
import { createTools } from "./create-tools.ts";

function setUp(content?: string) {
  const scripted = createScriptedBox();
  if (content !== undefined) scripted.files.set("f", Buffer.from(content));
  const tools = createTools({ box: scripted.box, clock: createVirtualClock() });
  return { ...scripted, tools, content: () => scripted.files.get("f")?.toString() };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

test("a write tells whether the file is new, its size and its digest", async () => {
  const { tools, content } = setUp();
  const first = await invokeTool(tools, "WriteFile", { path: "f", content: "é\n" });
  expect([first.outcome, first.text]).toEqual(["ok", `created f: 3 bytes, sha256 ${sha256("é\n")}`]);
  const second = await invokeTool(tools, "WriteFile", { path: "f", content: "" }, { id: "call-2" });
  expect([second.text, content()]).toEqual([`replaced f: 0 bytes, sha256 ${sha256("")}`, ""]);
});

test("a resumed write that was done is recognised, and a later change by somebody else stays", async () => {
  const { tools, files, content } = setUp();
  const first = await invokeTool(tools, "WriteFile", { path: "f", content: "one" });
  files.set("f", Buffer.from("somebody else's"));
  const again = await invokeTool(tools, "WriteFile", { path: "f", content: "one" }, { resumed: true });
  expect([first.outcome, again.outcome, content()]).toEqual(["ok", "ok", "somebody else's"]);
});

test("a write that was begun, and whose file somebody else changed, is unknown and not repeated", async () => {
  const { box } = setUp();
  const refused = {
    outcome: "refused" as const,
    code: "file/precondition" as const,
    message: "changed since",
  };
  const tools = createTools({
    box: { ...box, files: { ...box.files, write: async () => refused } },
    clock: createVirtualClock(),
  });
  const settled = await invokeTool(tools, "WriteFile", { path: "f", content: "one" }, { resumed: true });
  expect(settled.outcome).toBe("unknown");
  expect(settled.text).toContain("it was not written again");
});

test("a resumed edit whose file somebody else changed is unknown, and their change stays", async () => {
  const { tools, files, content } = setUp("old");
  const args = { path: "f", oldText: "old", newText: "new" };
  await invokeTool(tools, "EditFile", args);
  for (const theirs of ["something else", "old, theirs"]) {
    files.set("f", Buffer.from(theirs));
    const again = await invokeTool(tools, "EditFile", args, { resumed: true });
    expect([again.outcome, content()]).toEqual(["unknown", theirs]);
  }
});

test("an interruption before a change changes nothing", async () => {
  const { tools, writes } = setUp("old");
  const signal = AbortSignal.abort();
  const settled = [
    await invokeTool(tools, "WriteFile", { path: "f", content: "x" }, { signal }),
    await invokeTool(tools, "EditFile", { path: "f", oldText: "old", newText: "new" }, { signal }),
  ];
  expect([settled.map((one) => one.outcome), writes.length]).toEqual([["interrupted", "interrupted"], 0]);
});

test("an interrupted call that was done before says so, and one that wasn't changes nothing", async () => {
  const { tools, content } = setUp("old");
  const late = { resumed: true, signal: AbortSignal.abort() };
  const edit = { path: "f", oldText: "old", newText: "new" };
  expect((await invokeTool(tools, "EditFile", edit, { id: "e", ...late })).outcome).toBe("interrupted");
  expect(
    (await invokeTool(tools, "WriteFile", { path: "f", content: "x" }, { id: "w", ...late })).outcome,
  ).toBe("interrupted");
  expect(content()).toBe("old");
  await invokeTool(tools, "EditFile", edit, { id: "e" });
  expect((await invokeTool(tools, "EditFile", edit, { id: "e", ...late })).outcome).toBe("ok");
  await invokeTool(tools, "WriteFile", { path: "f", content: "x" }, { id: "w" });
  expect(
    (await invokeTool(tools, "WriteFile", { path: "f", content: "x" }, { id: "w", ...late })).outcome,
  ).toBe("ok");
  expect(content()).toBe("x");
});

test("an edit replaces the one place under the digest of what was read", async () => {
  const { tools, content, writes } = setUp("a\nold\n");
  const settled = await invokeTool(tools, "EditFile", {
    path: "f",
    oldText: "old",
    newText: "new",
    expectedHash: sha256("a\nold\n"),
  });
  expect([settled.outcome, settled.text, content()]).toEqual([
    "ok",
    `edited f: 1 place, line 2, sha256 ${sha256("a\nnew\n")}`,
    "a\nnew\n",
  ]);
  expect(writes.map((write) => write.precondition)).toEqual([{ kind: "sha256", sha256: sha256("a\nold\n") }]);
});

test("an edit of a file that changed since it was read is refused, and nothing is written", async () => {
  const { tools, content } = setUp("a\nold\n");
  const settled = await invokeTool(tools, "EditFile", {
    path: "f",
    oldText: "old",
    newText: "new",
    expectedHash: sha256("old\n"),
  });
  expect([settled.outcome, content()]).toEqual(["error", "a\nold\n"]);
  expect(settled.text).toContain("the file has changed since it was read");
});

test("a change by somebody else between the read and the write is a clear error", async () => {
  const { box, files, content } = setUp("old\n");
  const write: typeof box.files.write = (spec) => {
    files.set("f", Buffer.from("old, theirs\n"));
    return box.files.write(spec);
  };
  const tools = createTools({ box: { ...box, files: { ...box.files, write } }, clock: createVirtualClock() });
  const settled = await invokeTool(tools, "EditFile", { path: "f", oldText: "old", newText: "new" });
  expect([settled.outcome, content()]).toEqual(["error", "old, theirs\n"]);
  expect(settled.text).toContain("somebody else changed the file");
});

test("a resumed edit that was done is never applied a second time", async () => {
  const cases: readonly [before: string, oldText: string, newText: string, after: string][] = [
    ["a old b", "old", "new", "a new b"],
    ["a old b", "old", "older old", "a older old b"],
    ["a old b", " old", "", "a b"],
    ["x", "x", "xx", "xx"],
  ];
  for (const [before, oldText, newText, after] of cases) {
    const { tools, content } = setUp(before);
    const args = { path: "f", oldText, newText, replaceAll: true };
    await invokeTool(tools, "EditFile", args);
    expect(content()).toBe(after);
    const again = await invokeTool(tools, "EditFile", args, { resumed: true });
    expect([again.outcome, content()]).toEqual(["ok", after]);
  }
});

test("a resumed edit that never reached the box is applied", async () => {
  const { tools, content } = setUp("old");
  const settled = await invokeTool(
    tools,
    "EditFile",
    { path: "f", oldText: "old", newText: "new" },
    { resumed: true },
  );
  expect([settled.outcome, content()]).toEqual(["ok", "new"]);
});

test("parallel edits of one file each see what the other wrote", async () => {
  const { tools, content } = setUp("one two three");
  const settled = await Promise.all(
    ["one", "two", "three"].map((word) =>
      invokeTool(tools, "EditFile", { path: "f", oldText: word, newText: `<${word}>` }, { id: word }),
    ),
  );
  expect([settled.map((one) => one.outcome), content()]).toEqual([["ok", "ok", "ok"], "<one> <two> <three>"]);
});

test("one failing call of several settles alone", async () => {
  const { tools, content } = setUp("one two");
  const settled = await Promise.all([
    invokeTool(tools, "EditFile", { path: "f", oldText: "nine", newText: "x" }, { id: "1" }),
    invokeTool(tools, "EditFile", { path: "f", oldText: "two", newText: "2" }, { id: "2" }),
    invokeTool(tools, "ReadFile", { path: "missing" }, { id: "3" }),
  ]);
  expect([settled.map((one) => one.outcome), content()]).toEqual([["error", "ok", "error"], "one 2"]);
});

test("a file that is too large to edit is refused", async () => {
  const { tools } = setUp("x".repeat(9 * 1024 * 1024));
  const settled = await invokeTool(tools, "EditFile", { path: "f", oldText: "x", newText: "y" });
  expect([settled.outcome, settled.details]).toEqual(["error", { code: "file/too-large" }]);
});
