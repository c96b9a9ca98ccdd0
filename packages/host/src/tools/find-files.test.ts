import { createVirtualClock } from "@sand/testkit";
import { expect, test } from "vitest";
import { invokeTool } from "../../test/invoke-tool.ts";
import { createScriptedBox } from "../../test/scripted-box.ts";
import type { BoxFiles, FileFacts, GrepMatch, GrepSpec } from "../box/box-files-port.ts";
import { createTools } from "./create-tools.ts";
import { shortenPath } from "./workspace-path.ts";

function setUp(files: Partial<BoxFiles>) {
  const { box } = createScriptedBox();
  return createTools({ box: { ...box, files: { ...box.files, ...files } }, clock: createVirtualClock() });
}

function fact(path: string, facts: Partial<FileFacts> = {}): FileFacts {
  return { path, type: "file", sizeBytes: 1, mode: 0o644, modifiedAtMs: 0, linkTarget: null, ...facts };
}

test("a listing is sorted, marks folders and links, and no name can forge a line", async () => {
  const entries = [
    fact("b.txt", { sizeBytes: 12 }),
    fact("a", { type: "directory" }),
    fact("evil\nb.txt  99 bytes"),
    fact("link", { type: "symlink", linkTarget: "b.txt" }),
    fact("pipe", { type: "other" }),
  ];
  const tools = setUp({ list: async () => ({ outcome: "ok", entries, truncated: false }) });
  const settled = await invokeTool(tools, "ListFiles", {});
  expect(settled.text.split("\n")).toEqual([
    '"evil\\nb.txt  99 bytes"  1 bytes',
    "a/",
    "b.txt  12 bytes",
    "link -> b.txt",
    "pipe  (not a regular file)",
  ]);
});

test("files in the workspace are named from it, others whole", async () => {
  const cases: readonly [path: string, name: string][] = [
    ["/workspace/src/a.ts", "src/a.ts"],
    ["/workspace", "/workspace"],
    ["/workspace-2/a", "/workspace-2/a"],
    ["/etc/hosts", "/etc/hosts"],
    ["/workspace/..a", "..a"],
    ["src/a.ts", "src/a.ts"],
  ];
  for (const [path, name] of cases) expect([path, shortenPath(path, "/workspace")]).toEqual([path, name]);
  const found = { outcome: "ok" as const, truncated: false, timedOut: false };
  const tools = setUp({
    list: async () => ({ ...found, entries: [fact("/workspace/d/f")] }),
    glob: async () => ({ ...found, paths: ["/workspace/d/f"] }),
    grep: async () => ({ ...found, matches: [match("/workspace/d/f", 1, "hit")] }),
  });
  expect((await invokeTool(tools, "ListFiles", { path: "d" })).text).toBe("d/f  1 bytes");
  expect((await invokeTool(tools, "Glob", { pattern: "*" })).text).toBe("d/f");
  expect((await invokeTool(tools, "Grep", { pattern: "hit" })).text).toBe("d/f:1:hit");
});

test("a listing that isn't whole says so", async () => {
  const entries = Array.from({ length: 1_000 }, (_, index) => fact(`${"x".repeat(100)}${index}`));
  const settled = await invokeTool(
    setUp({ list: async () => ({ outcome: "ok", entries, truncated: true }) }),
    "ListFiles",
    {},
  );
  expect(settled.text).toMatch(/\n\[not all entries are shown: \d+ of more than 1000\]$/);
  expect(settled.details).toEqual({ entries: 1_000, truncated: true });
});

test("an empty folder is said to be empty", async () => {
  const settled = await invokeTool(
    setUp({ list: async () => ({ outcome: "ok", entries: [], truncated: false }) }),
    "ListFiles",
    { path: "d" },
  );
  expect([settled.outcome, settled.text]).toEqual(["ok", "d: empty folder"]);
});

const match = (path: string, line: number, text: string, isMatch = true): GrepMatch => ({
  path,
  line,
  text,
  isMatch,
});

test("matches have ripgrep's form, with context set apart", async () => {
  const specs: GrepSpec[] = [];
  const matches = [
    match("a.ts", 1, "before", false),
    match("a.ts", 2, "hit\n"),
    match("a.ts", 9, "hit again"),
    match("b.ts", 10, "other"),
  ];
  const tools = setUp({
    grep: async (spec) => {
      specs.push(spec);
      return { outcome: "ok", matches, truncated: false, timedOut: false };
    },
  });
  const settled = await invokeTool(tools, "Grep", { pattern: "hit", glob: "*.ts", context: 1 });
  expect(settled.text).toBe("a.ts-1-before\na.ts:2:hit\n--\na.ts:9:hit again\n--\nb.ts:10:other");
  expect(settled.details).toEqual({ matches: 3, truncated: false, timedOut: false });
  expect(specs).toEqual([
    {
      pattern: "hit",
      literal: false,
      ignoreCase: false,
      path: ".",
      globs: ["*.ts"],
      contextLines: 1,
      matchesMax: 200,
    },
  ]);
});

test("a line of a megabyte is cut, and the whole answer stays small", async () => {
  const matches = Array.from({ length: 200 }, (_, index) =>
    match("min.js", index + 1, "x".repeat(1_000_000)),
  );
  const settled = await invokeTool(
    setUp({ grep: async () => ({ outcome: "ok", matches, truncated: false, timedOut: false }) }),
    "Grep",
    { pattern: "x" },
  );
  expect(Buffer.byteLength(settled.text)).toBeLessThan(33 * 1024);
  expect(settled.text).toContain("… (1000000 characters)");
  expect(settled.text).toMatch(/\[not all matches are shown, there are too many; [^\n]*\]$/);
});

test("nothing found is an answer and no error; a search that was stopped with nothing is one", async () => {
  const nothing = { outcome: "ok" as const, truncated: false, timedOut: false };
  const found = setUp({
    grep: async () => ({ ...nothing, matches: [] }),
    glob: async () => ({ ...nothing, paths: [] }),
  });
  expect((await invokeTool(found, "Grep", { pattern: "x" })).text).toBe("no matches");
  expect((await invokeTool(found, "Glob", { pattern: "x" })).text).toBe("no files match");
  const late = setUp({
    grep: async () => ({ ...nothing, timedOut: true, matches: [] }),
    glob: async () => ({ ...nothing, timedOut: true, paths: [] }),
  });
  expect((await invokeTool(late, "Grep", { pattern: "x" })).outcome).toBe("error");
  expect((await invokeTool(late, "Glob", { pattern: "x" })).outcome).toBe("error");
});

test("found files are one a line", async () => {
  const tools = setUp({
    glob: async () => ({ outcome: "ok", paths: ["a.ts", "b/c.ts"], truncated: true, timedOut: false }),
  });
  const settled = await invokeTool(tools, "Glob", { pattern: "**/*.ts" });
  expect(settled.text).toBe(
    "a.ts\nb/c.ts\n[not all files are shown, there are too many; narrow the pattern or the path]",
  );
});

test("every tool describes its parameters as plain JSON schema, closed to unknown fields, and says how it may be replayed", () => {
  const tools = [...setUp({}).values()];
  expect(tools.map((tool) => [tool.description.name, tool.replay])).toEqual([
    ["Shell", "keyed"],
    ["ReadFile", "safe"],
    ["WriteFile", "keyed"],
    ["EditFile", "keyed"],
    ["ListFiles", "safe"],
    ["Glob", "safe"],
    ["Grep", "safe"],
  ]);
  for (const tool of tools) {
    expect(tool.description.parameters).toMatchObject({ type: "object", additionalProperties: false });
    expect(
      Object.getOwnPropertyNames(tool.description.parameters).filter((name) => name.startsWith("~")),
    ).toEqual([]);
    expect(tool.description.description).not.toBe("");
  }
});
