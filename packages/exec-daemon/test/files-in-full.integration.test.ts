/** File operations beyond reading and writing: trees, names of any bytes, pieces, pages and streams. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { FileType } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "./daemon-process.ts";

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

/** a name that is no text */
const odd = Buffer.concat([Buffer.from("odd-"), Buffer.from([0xff, 0xfe, 0x0a])]);

test("a name of any bytes round-trips through every verb that takes one", async () => {
  const { files } = daemon;
  await files.write({ pathBytes: odd, data: text("bytes"), operationId: "odd-1" });
  expect(readdirSync(daemon.workspace, { encoding: "buffer" }).some((name) => name.equals(odd))).toBe(true);
  const [listed] = (await files.list({ path: "." })).entries.filter((entry) => entry.pathBytes.length > 0);
  const path = Buffer.concat([Buffer.from(`${daemon.workspace}/`), odd]);
  expect(Buffer.from(listed?.pathBytes ?? []).equals(path)).toBe(true);
  expect((await files.read({ pathBytes: listed?.pathBytes ?? new Uint8Array() })).data).toEqual(
    text("bytes"),
  );
  const again = Buffer.from([0x64, 0xe9]);
  const moved = await files.move({ pathBytes: odd, destinationBytes: Buffer.from([0xe9]) });
  expect(Buffer.from(moved.file?.pathBytes ?? []).at(-1)).toBe(0xe9);
  await files.copy({ pathBytes: Buffer.from([0xe9]), destinationBytes: again });
  expect((await files.stat({ pathBytes: again })).file).toMatchObject({ sizeBytes: 5n });
  expect((await files.grep({ path: ".", pattern: "bytes" })).lines.map((line) => line.pathBytes)).toEqual([
    ...[Buffer.from([0x64, 0xe9]), Buffer.from([0xe9])].map(
      (name) => new Uint8Array(Buffer.concat([Buffer.from(`${daemon.workspace}/`), name])),
    ),
  ]);
  expect((await files.glob({ path: ".", pattern: "d*" })).pathsBytes).toHaveLength(1);
  expect(await files.remove({ pathBytes: Buffer.from([0xe9]) })).toMatchObject({ removed: 1n });
  expect(await files.remove({ pathBytes: again })).toMatchObject({ removed: 1n });
});

test("a folder is made with those above it, once, and not in a file's place", async () => {
  expect(await daemon.files.make({ path: "made/deep/er", mode: 0o750 })).toMatchObject({ created: true });
  expect(statSync(inWorkspace("made/deep/er")).mode & 0o777).toBe(0o750);
  expect(await daemon.files.make({ path: "made/deep/er" })).toMatchObject({ created: false });
  writeFileSync(inWorkspace("made/file"), "");
  expect(await codeOf(daemon.files.make({ path: "made/file" }))).toBe("file/not-a-directory");
  expect(await codeOf(daemon.files.make({ path: "made/file/below" }))).toBe("file/not-a-directory");
});

test("appending adds at the end, and a repeat that says the size before is known as done", async () => {
  const first = await daemon.files.append({ path: "log/a.txt", data: text("one") });
  expect(first).toMatchObject({ created: true, sizeBytes: 3n });
  const second = { path: "log/a.txt", data: text("two"), expectedSizeBytes: 3n };
  expect(await daemon.files.append(second)).toMatchObject({ existing: false, sizeBytes: 6n });
  expect(await daemon.files.append(second)).toMatchObject({ existing: true, sizeBytes: 6n });
  expect(await codeOf(daemon.files.append({ ...second, data: text("xyz") }))).toBe("file/precondition");
  expect(readFileSync(inWorkspace("log/a.txt"), "utf8")).toBe("onetwo");
});

test("a move makes the folders above its destination and replaces nothing that it wasn't told to", async () => {
  mkdirSync(inWorkspace("from/inner"), { recursive: true });
  writeFileSync(inWorkspace("from/inner/file"), "kept");
  expect(await daemon.files.move({ path: "from", destination: "to/new" })).toMatchObject({ copied: false });
  expect(readFileSync(inWorkspace("to/new/inner/file"), "utf8")).toBe("kept");
  writeFileSync(inWorkspace("taken"), "theirs");
  const over = { path: "to/new/inner/file", destination: "taken" };
  expect(await codeOf(daemon.files.move(over))).toBe("file/exists");
  expect(readFileSync(inWorkspace("taken"), "utf8")).toBe("theirs");
  await daemon.files.move({ ...over, overwrite: true });
  expect(readFileSync(inWorkspace("taken"), "utf8")).toBe("kept");
  mkdirSync(inWorkspace("full"));
  expect(await codeOf(daemon.files.move({ path: "to", destination: "full" }))).toBe("file/exists");
  expect(await codeOf(daemon.files.move({ path: "to", destination: "to/new/below" }))).toBe("exec/invalid");
  expect(await codeOf(daemon.files.move({ path: "not-there", destination: "x" }))).toBe("file/not-found");
});

test.skipIf(process.getuid?.() !== 0)(
  "a move to another device copies the tree and then removes it",
  async () => {
    const device = inWorkspace("device");
    mkdirSync(device);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", device]);
    try {
      mkdirSync(inWorkspace("tree/sub"), { recursive: true });
      writeFileSync(inWorkspace("tree/sub/run"), "#!", { mode: 0o755 });
      symlinkSync("sub/run", inWorkspace("tree/link"));
      expect(await daemon.files.move({ path: "tree", destination: "device/tree" })).toMatchObject({
        copied: true,
      });
      expect(existsSync(inWorkspace("tree"))).toBe(false);
      expect(statSync(join(device, "tree/sub/run")).mode & 0o777).toBe(0o755);
      expect(readlinkSync(join(device, "tree/link"))).toBe("sub/run");
      // Too large for the device: nothing is lost and nothing is left over there.
      writeFileSync(inWorkspace("large"), Buffer.alloc(2 * 1024 * 1024));
      expect(await codeOf(daemon.files.move({ path: "large", destination: "device/large" }))).toBe(
        "file/no-space",
      );
      expect(statSync(inWorkspace("large")).size).toBe(2 * 1024 * 1024);
      expect(readdirSync(device)).toEqual(["tree"]);
    } finally {
      execFileSync("umount", [device]);
    }
  },
);

test("a copy has modes, times and links, and leaves out what isn't a file", async () => {
  mkdirSync(inWorkspace("origin/sub"), { recursive: true });
  writeFileSync(inWorkspace("origin/sub/file"), "12345");
  chmodSync(inWorkspace("origin/sub/file"), 0o640);
  symlinkSync("/etc/hostname", inWorkspace("origin/link"));
  execFileSync("mkfifo", [inWorkspace("origin/pipe")]);
  const answer = await daemon.files.copy({ path: "origin", destination: "copies/one" });
  expect(answer).toMatchObject({ sizeBytes: 5n, skipped: 1n, file: { type: FileType.DIRECTORY } });
  expect(readdirSync(inWorkspace("copies"))).toEqual(["one"]);
  const [before, after] = ["origin", "copies/one"].map((root) => statSync(inWorkspace(`${root}/sub/file`)));
  expect(after?.mode).toBe(before?.mode);
  expect(Math.abs((after?.mtimeMs ?? 0) - (before?.mtimeMs ?? 0))).toBeLessThan(1);
  expect(readlinkSync(inWorkspace("copies/one/link"))).toBe("/etc/hostname");
  expect(await codeOf(daemon.files.copy({ path: "origin", destination: "copies/one" }))).toBe("file/exists");
  expect(await codeOf(daemon.files.copy({ path: "origin", destination: "origin/sub/in" }))).toBe(
    "exec/invalid",
  );
});

test("removing takes links and not what they lead to, a folder only when it is told, and twice is no failure", async () => {
  mkdirSync(inWorkspace("gone/deep/er"), { recursive: true });
  mkdirSync(inWorkspace("kept"));
  writeFileSync(inWorkspace("kept/file"), "kept");
  symlinkSync("../kept", inWorkspace("gone/link"));
  expect(await codeOf(daemon.files.remove({ path: "gone" }))).toBe("file/not-empty");
  expect(await daemon.files.remove({ path: "gone", recursive: true })).toMatchObject({ removed: 4n });
  expect(await daemon.files.remove({ path: "gone", recursive: true })).toMatchObject({ removed: 0n });
  expect(readFileSync(inWorkspace("kept/file"), "utf8")).toBe("kept");
  expect(await codeOf(daemon.files.remove({ path: ".", recursive: true }))).toBe("file/denied");
  expect(await codeOf(daemon.files.remove({ path: "/", recursive: true }))).toBe("file/denied");
  expect(await codeOf(daemon.files.remove({ path: "/etc", recursive: true }))).toBe("file/denied");
  expect(existsSync(daemon.workspace)).toBe(true);
});

test("a listing goes on where the page before ended, over folders within folders", async () => {
  for (const name of ["p/a/1", "p/a/2", "p/a-b", "p/b/1", "p/c"]) {
    mkdirSync(join(inWorkspace(name), ".."), { recursive: true });
    writeFileSync(inWorkspace(name), "");
  }
  const found: string[] = [];
  let pageToken: Uint8Array = new Uint8Array();
  let pages = 0;
  do {
    const page = await daemon.files.list({ path: "p", depth: 3, entriesMax: 2, pageToken });
    found.push(...page.entries.map((entry) => entry.path.slice(inWorkspace("p/").length)));
    pageToken = page.nextPageToken;
    pages += 1;
  } while (pageToken.length > 0);
  expect(found).toEqual(["a", "a/1", "a/2", "a-b", "b", "b/1", "c"]);
  expect(pages).toBe(4);
});

test("a streamed listing tells every entry once", async () => {
  mkdirSync(inWorkspace("many"));
  for (let index = 0; index < 1234; index += 1) writeFileSync(inWorkspace(`many/${index}`), "");
  const seen: string[] = [];
  let messages = 0;
  for await (const { entries } of daemon.files.listStream({ path: "many" })) {
    messages += 1;
    seen.push(...entries.map((entry) => entry.path));
  }
  expect([seen.length, new Set(seen).size, messages]).toEqual([1234, 1234, 3]);
});

test("an upload in pieces shows only when it is whole, survives a restart of the daemon, and may be repeated", async () => {
  const pieces = ["first ", "second ", "third"].map(text);
  const whole = Buffer.concat(pieces);
  const sha256 = createHash("sha256").update(whole).digest("hex");
  const upload = { path: "up/loaded", uploadId: "u-1" };
  expect(await daemon.files.uploadStatus(upload)).toMatchObject({ sizeBytes: 0n });
  const [first, second, third] = pieces;
  await daemon.files.uploadPiece({ ...upload, offset: 0n, data: first ?? text("") });
  await daemon.files.uploadPiece({ ...upload, offset: 6n, data: second ?? text("") });
  expect(existsSync(inWorkspace("up/loaded"))).toBe(false);
  await daemon.kill();
  daemon = await daemon.again();
  const { sizeBytes } = await daemon.files.uploadStatus(upload);
  expect(sizeBytes).toBe(13n);
  expect(await codeOf(daemon.files.uploadPiece({ ...upload, offset: 14n, data: text("x") }))).toBe(
    "file/precondition",
  );
  const commit = { ...upload, sizeBytes: BigInt(whole.length), sha256, mode: 0o640, precondition: "absent" };
  expect(await codeOf(daemon.files.uploadCommit(commit))).toBe("file/precondition");
  await daemon.files.uploadPiece({ ...upload, offset: sizeBytes, data: third ?? text("") });
  await daemon.files.uploadPiece({ ...upload, offset: sizeBytes, data: third ?? text("") });
  expect(await codeOf(daemon.files.uploadCommit({ ...commit, sha256: "0".repeat(64) }))).toBe(
    "file/precondition",
  );
  expect(await daemon.files.uploadCommit(commit)).toMatchObject({ created: true, file: { mode: 0o640 } });
  // Its answer was lost, and it is asked for again.
  expect(await daemon.files.uploadCommit(commit)).toMatchObject({ created: false });
  expect(readFileSync(inWorkspace("up/loaded"))).toEqual(whole);
  expect(readdirSync(inWorkspace("up"))).toEqual(["loaded"]);
  await daemon.files.uploadPiece({ ...upload, offset: 0n, data: text("given up") });
  expect(await daemon.files.uploadDrop(upload)).toMatchObject({ existed: true });
  expect(readdirSync(inWorkspace("up"))).toEqual(["loaded"]);
});

test("a file that changes while it is read in pieces is noticed", async () => {
  writeFileSync(inWorkspace("moving"), "0123456789");
  const first = await daemon.files.read({ path: "moving", lengthMax: 5, noDigest: true });
  expect(first.sha256).toBe("");
  const rest = { path: "moving", offset: 5n, expectedVersion: first.version };
  expect((await daemon.files.read(rest)).data).toEqual(text("56789"));
  writeFileSync(inWorkspace("moving"), "9876543210");
  expect(await codeOf(daemon.files.read(rest))).toBe("file/precondition");
});

test("grep takes words, types and lines over lines, goes on by pages, and ends at its deadline", async () => {
  mkdirSync(inWorkspace("find"));
  writeFileSync(inWorkspace("find/a.ts"), "cat\nconcat\ncat cat\n");
  writeFileSync(inWorkspace("find/b.py"), "cat\nend\n");
  writeFileSync(inWorkspace("find/.ignore"), "b.py\n");
  const at = { path: "find", pattern: "cat" };
  const shown = async (more: object) =>
    (await daemon.files.grep({ ...at, ...more })).lines.map(
      (line) => `${line.path.slice(inWorkspace("find/").length)}:${line.line}`,
    );
  expect(await shown({})).toEqual(["a.ts:1", "a.ts:2", "a.ts:3"]);
  expect(await shown({ word: true })).toEqual(["a.ts:1", "a.ts:3"]);
  expect(await shown({ noIgnore: true, types: ["py"] })).toEqual(["b.py:1"]);
  expect(await shown({ noIgnore: true, multiline: true, pattern: "cat\\nend" })).toEqual(["b.py:1"]);
  expect(await shown({ noIgnore: true, filesOnly: true })).toEqual(["a.ts:0", "b.py:0"]);
  const page = await daemon.files.grep({ ...at, matchesMax: 2 });
  expect([page.lines.length, page.nextSkipMatches]).toEqual([2, 2]);
  expect(await shown({ skipMatches: page.nextSkipMatches })).toEqual(["a.ts:3"]);
  expect(await codeOf(daemon.files.grep({ ...at, types: ["nonsense"] }))).toBe("exec/invalid");
  expect(await daemon.files.grep({ path: "/", pattern: "cat", deadlineMs: 1 })).toMatchObject({
    timedOut: true,
  });
});

test("glob goes on by pages", async () => {
  const first = await daemon.files.glob({ path: "p", pattern: "**", filesMax: 3 });
  expect([first.paths.length, first.nextSkipFiles]).toEqual([3, 3]);
  const rest = await daemon.files.glob({ path: "p", pattern: "**", skipFiles: first.nextSkipFiles });
  expect([rest.paths.length, rest.nextSkipFiles]).toEqual([2, 0]);
  expect(new Set([...first.paths, ...rest.paths]).size).toBe(5);
});

test("row 45: the limit of descriptors is raised at the start, and the system's word is in an error", async () => {
  await daemon.files.list({ path: "." });
  const limits = readFileSync(`/proc/${daemon.child.pid}/limits`, "utf8");
  const [, soft, hard] = /Max open files\s+(\d+)\s+(\d+)/u.exec(limits) ?? [];
  expect(soft).toBe(hard);
  const name = "n".repeat(300);
  const failure = await daemon.files.make({ path: name }).catch((error: unknown) => ConnectError.from(error));
  expect(String(failure)).toContain("ENAMETOOLONG");
});
