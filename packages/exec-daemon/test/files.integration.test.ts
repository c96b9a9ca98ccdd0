import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { FileType } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gather, shell, startTestDaemon, type TestDaemon } from "./daemon-process.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon({ SAND_SANDBOX: "required" });
});
afterAll(() => daemon.dispose());

const inWorkspace = (name: string): string => join(daemon.workspace, name);
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

async function codeOf(work: Promise<unknown>): Promise<string | null> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return failure === undefined ? "no failure" : ConnectError.from(failure).metadata.get("x-sand-code");
}

test("a write makes the folders, and reading gives the same bytes with their digest", async () => {
  const data = new Uint8Array([0, 255, 10, 13]);
  const written = await daemon.files.write({ path: "deep/er/a.bin", data, operationId: "w-1" });
  expect(written).toMatchObject({ created: true, existing: false, sizeBytes: 4n });
  const read = await daemon.files.read({ path: inWorkspace("deep/er/a.bin") });
  expect(read).toMatchObject({ data, sha256: written.sha256, binary: true, totalBytes: 4n });
});

test("a range is read, and text is told from binary", async () => {
  writeFileSync(inWorkspace("text"), "0123456789");
  expect(await daemon.files.read({ path: "text", offset: 3n, lengthMax: 4 })).toMatchObject({
    data: text("3456"),
    binary: false,
  });
  expect(await daemon.files.read({ path: "text", offset: 99n })).toMatchObject({
    data: text(""),
    totalBytes: 10n,
  });
});

test("a repeat of a write is known as done, also when the answer came after a crash", async () => {
  const request = { path: "again", data: text("two"), operationId: "w-2" };
  await daemon.files.write(request);
  expect(await daemon.files.write(request)).toMatchObject({ existing: true, created: true });
  // As if it had died after the write and before it was noted as done: the content tells.
  const journal = join(daemon.dataRoot, "file-writes", "w-2.json");
  const intent = JSON.parse(readFileSync(journal, "utf8"));
  writeFileSync(journal, JSON.stringify({ ...intent, done: false }));
  expect(await daemon.files.write(request)).toMatchObject({ existing: true });
  // As if it had died before the write, and somebody else wrote meanwhile.
  writeFileSync(inWorkspace("again"), "other");
  expect(await codeOf(daemon.files.write(request))).toBe("file/precondition");
  expect(readFileSync(inWorkspace("again"), "utf8")).toBe("other");
  expect(await codeOf(daemon.files.write({ ...request, data: text("three") }))).toBe("exec/key-conflict");
});

test("an interrupted write whose file is as before is done by the repeat", async () => {
  writeFileSync(inWorkspace("before"), "old");
  const request = { path: "before", data: text("new"), operationId: "w-3" };
  const { sha256 } = await daemon.files.read({ path: "before" });
  await daemon.files.write({ ...request, precondition: sha256 });
  const journal = join(daemon.dataRoot, "file-writes", "w-3.json");
  writeFileSync(journal, JSON.stringify({ ...JSON.parse(readFileSync(journal, "utf8")), done: false }));
  writeFileSync(inWorkspace("before"), "old");
  expect(await daemon.files.write({ ...request, precondition: sha256 })).toMatchObject({ existing: false });
  expect(readFileSync(inWorkspace("before"), "utf8")).toBe("new");
});

test("a write whose expectation doesn't hold changes nothing", async () => {
  writeFileSync(inWorkspace("expected"), "is");
  const request = { path: "expected", data: text("x") };
  expect(await codeOf(daemon.files.write({ ...request, operationId: "w-4", precondition: "absent" }))).toBe(
    "file/precondition",
  );
  expect(
    await codeOf(daemon.files.write({ ...request, operationId: "w-5", precondition: "0".repeat(64) })),
  ).toBe("file/precondition");
  expect(readFileSync(inWorkspace("expected"), "utf8")).toBe("is");
});

test("a write through a link changes the file and leaves the link, and keeps the file's mode", async () => {
  writeFileSync(inWorkspace("script"), "old", { mode: 0o755 });
  symlinkSync("script", inWorkspace("link"));
  await daemon.files.write({ path: "link", data: text("new"), operationId: "w-6" });
  expect(readFileSync(inWorkspace("script"), "utf8")).toBe("new");
  expect(statSync(inWorkspace("script")).mode & 0o777).toBe(0o755);
  expect(lstatSync(inWorkspace("link")).isSymbolicLink()).toBe(true);
});

test.each([
  ["the data root", () => join(daemon.dataRoot, "exec-daemon.json")],
  ["a process's environment", () => "/proc/self/environ"],
  ["a link to the data root", () => "to-data/exec-daemon.json"],
  ["a link to a process's environment", () => "to-environ"],
  ["a way around by dots", () => "../data/exec-daemon.json"],
  ["a device", () => "/dev/zero"],
])("reading is refused: %s", async (_name, path) => {
  const { symlinkSync: link } = await import("node:fs");
  if (!existsSync(inWorkspace("to-data"))) link(daemon.dataRoot, inWorkspace("to-data"));
  if (lstatSync(inWorkspace("to-environ"), { throwIfNoEntry: false }) === undefined) {
    link(`/proc/${daemon.child.pid}/environ`, inWorkspace("to-environ"));
  }
  // What lies in the machine's own /tmp isn't there at all for commands.
  expect(["file/denied", "file/not-found"]).toContain(await codeOf(daemon.files.read({ path: path() })));
});

test.each([
  ["outside of the workspace", () => "/etc/planted"],
  ["through a link into the data root", () => "data-link/planted"],
  ["through a dangling link out of the workspace", () => "dangling"],
])("writing is refused: %s", async (_name, path) => {
  const { symlinkSync: link } = await import("node:fs");
  if (!existsSync(inWorkspace("data-link"))) link(daemon.dataRoot, inWorkspace("data-link"));
  if (lstatSync(inWorkspace("dangling"), { throwIfNoEntry: false }) === undefined)
    link("/etc/planted", inWorkspace("dangling"));
  expect(
    await codeOf(daemon.files.write({ path: path(), data: text("x"), operationId: `w-${path()}` })),
  ).toBe("file/denied");
  expect(existsSync("/etc/planted")).toBe(false);
});

test("commands and files see the same /tmp, which isn't the machine's", async () => {
  await daemon.files.write({ path: "/tmp/shared-note", data: text("note"), operationId: "w-7" });
  await daemon.processes.start(shell("tmp", "cat /tmp/shared-note; echo from-command > /tmp/answer"));
  expect((await gather(daemon, "tmp")).stdout.toString()).toBe("note");
  expect(new TextDecoder().decode((await daemon.files.read({ path: "/tmp/answer" })).data)).toBe(
    "from-command\n",
  );
  expect(existsSync("/tmp/shared-note")).toBe(false);
});

test("a folder is listed to a depth, links are shown and not followed, and the count is bounded", async () => {
  mkdirSync(inWorkspace("tree/sub"), { recursive: true });
  writeFileSync(inWorkspace("tree/sub/leaf"), "12345");
  symlinkSync("..", inWorkspace("tree/up"));
  const { entries, truncated } = await daemon.files.list({ path: "tree", depth: 2 });
  expect(
    entries.map((entry) => [
      entry.path.slice(daemon.workspace.length),
      entry.type,
      Number(entry.sizeBytes > 2n),
    ]),
  ).toEqual([
    ["/tree/sub", FileType.DIRECTORY, 1],
    ["/tree/sub/leaf", FileType.FILE, 1],
    ["/tree/up", FileType.SYMLINK, 0],
  ]);
  expect(truncated).toBe(false);
  expect(await daemon.files.list({ path: "tree", depth: 2, entriesMax: 1 })).toMatchObject({
    truncated: true,
  });
});

test("stat shows a link itself, and what isn't there is typed", async () => {
  symlinkSync("nowhere", inWorkspace("lost-link"));
  expect((await daemon.files.stat({ path: "lost-link" })).file).toMatchObject({
    type: FileType.SYMLINK,
    linkTarget: "nowhere",
  });
  expect(await codeOf(daemon.files.stat({ path: "nothing" }))).toBe("file/not-found");
  expect(await codeOf(daemon.files.read({ path: "." }))).toBe("file/not-a-file");
});

test("grep finds lines with their numbers and context, in bounds, and names a bad pattern", async () => {
  mkdirSync(inWorkspace("search"), { recursive: true });
  writeFileSync(inWorkspace("search/a.txt"), "one\ntwo needle\nthree\n");
  writeFileSync(inWorkspace("search/b.md"), "needle\n".repeat(5));
  const all = await daemon.files.grep({
    path: "search",
    pattern: "need.e",
    contextLines: 1,
    globs: ["*.txt"],
  });
  expect(all.lines.map(({ path, line, text: found, isMatch }) => [path, line, found, isMatch])).toEqual([
    [inWorkspace("search/a.txt"), 1, "one", false],
    [inWorkspace("search/a.txt"), 2, "two needle", true],
    [inWorkspace("search/a.txt"), 3, "three", false],
  ]);
  expect(await daemon.files.grep({ path: "search/b.md", pattern: "needle", matchesMax: 2 })).toMatchObject({
    truncated: true,
    lines: [{ line: 1, path: inWorkspace("search/b.md") }, { line: 2 }],
  });
  expect(await codeOf(daemon.files.grep({ path: "search", pattern: "(" }))).toBe("exec/invalid");
  expect((await daemon.files.grep({ path: "search", pattern: "(", literal: true })).lines).toEqual([]);
});

test("glob finds files below a folder, and not those of the data root", async () => {
  expect((await daemon.files.glob({ path: "search", pattern: "**/*.md" })).paths).toEqual([
    inWorkspace("search/b.md"),
  ]);
  expect((await daemon.files.glob({ path: "/", pattern: "**/exec-daemon.json" })).paths).toEqual([]);
}, 60_000);
