/** Differences against git and checkpoints, hashes, patches and artifacts, over the real daemon. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Artifacts, Changes, type DiffAnswer, DiffStatus } from "@sand/protocol/exec";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, token } from "./daemon-process.ts";

let daemon: TestDaemon;
let changes: Client<typeof Changes>;
let artifacts: Client<typeof Artifacts>;

beforeAll(async () => {
  daemon = await startTestDaemon({ SAND_SANDBOX: "required" });
  connect();
});
afterAll(() => daemon.dispose());
beforeEach(() => {
  for (const name of readdirSync(daemon.workspace)) rmSync(inWorkspace(name), { recursive: true });
});

function connect(): void {
  const transport = createConnectTransport({
    baseUrl: daemon.baseUrl,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  changes = createClient(Changes, transport);
  artifacts = createClient(Artifacts, transport);
}

const inWorkspace = (name: string): string => join(daemon.workspace, name);
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const read = (name: string): string => readFileSync(inWorkspace(name), "utf8");

async function codeOf(work: Promise<unknown>): Promise<string | null> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return failure === undefined ? "no failure" : ConnectError.from(failure).metadata.get("x-sand-code");
}

function git(...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"];
  return execFileSync("git", [...who, ...args], { cwd: daemon.workspace, encoding: "utf8", stdio: "pipe" });
}

function makeRepository(): void {
  git("init", "-q");
  writeFileSync(inWorkspace("kept"), "kept\n");
  writeFileSync(inWorkspace("changed"), "one\ntwo\nthree\n");
  writeFileSync(inWorkspace("removed"), "gone\n");
  writeFileSync(inWorkspace("named"), "the same\ntext\nas before\n");
  git("add", ".");
  git("commit", "-q", "-m", "first");
}

function changeAll(): void {
  writeFileSync(inWorkspace("changed"), "one\n2\nthree\n");
  rmSync(inWorkspace("removed"));
  renameSync(inWorkspace("named"), inWorkspace("renamed"));
  mkdirSync(inWorkspace("sub"));
  writeFileSync(inWorkspace("sub/new"), "new\n");
  writeFileSync(inWorkspace("sub/binary"), Buffer.from([0, 1, 2]));
}

const words = (answer: DiffAnswer | undefined): readonly string[] =>
  (answer?.files ?? []).map(
    ({ status, path, addedLines, removedLines }) =>
      `${DiffStatus[status]} ${path} +${addedLines} -${removedLines}`,
  );

async function ask(
  question: Parameters<typeof changes.diff>[0]["questions"],
): Promise<DiffAnswer | undefined> {
  return (await changes.diff({ questions: question ?? [] })).answers[0];
}

test("a difference against git names every file, the untracked too, and its patch makes the same tree again", async () => {
  makeRepository();
  changeAll();
  git("add", "renamed", "named");
  const answer = await ask([{ path: "." }]);
  expect(words(answer)).toEqual([
    "MODIFIED changed +1 -1",
    "REMOVED removed +0 -1",
    "RENAMED renamed +0 -0",
    "ADDED sub/binary +0 -0",
    "ADDED sub/new +1 -0",
  ]);
  expect(answer?.files.filter(({ untracked }) => untracked).map(({ path }) => path)).toEqual([
    "sub/binary",
    "sub/new",
  ]);
  git("add", ".");
  git("stash", "-q");
  expect(read("changed")).toBe("one\ntwo\nthree\n");
  const applied = await changes.applyPatch({ path: ".", patch: answer?.patch ?? bytes("") });
  expect(applied.files.map(({ path }) => path).toSorted()).toEqual([
    "changed",
    "removed",
    "renamed",
    "sub/new",
  ]);
  expect([read("changed"), read("renamed"), read("sub/new"), existsSync(inWorkspace("removed"))]).toEqual([
    ...["one\n2\nthree\n", "the same\ntext\nas before\n", "new\n", false],
  ]);
});

test("several questions are answered each by itself, and one without an answer says why", async () => {
  makeRepository();
  changeAll();
  mkdirSync(inWorkspace("empty"));
  git("init", "-q", "empty");
  const { answers } = await changes.diff({
    questions: [
      { path: "sub", namesOnly: true },
      { path: ".", only: ["changed"], base: { case: "git", value: "main" } },
      { path: ".", base: { case: "git", value: "no-such-branch" } },
      { path: ".", base: { case: "git", value: "--output=/tmp/x" } },
      { path: "/tmp" },
      { path: "nowhere" },
      { path: "empty" },
      { path: ".", base: { case: "checkpointId", value: "none" } },
    ],
  });
  expect(answers.map(({ errorCode }) => errorCode)).toEqual([
    ...[
      "",
      "",
      "file/not-found",
      "exec/invalid",
      "file/precondition",
      "file/not-found",
      "",
      "file/not-found",
    ],
  ]);
  expect(words(answers[0])).toEqual(["ADDED binary +0 -0", "ADDED new +0 -0"]);
  expect(answers[0]?.patch).toHaveLength(0);
  expect(words(answers[1])).toEqual(["MODIFIED changed +1 -1"]);
});

test("nothing that a repository configures runs for a difference outside of the commands' fence", async () => {
  makeRepository();
  changeAll();
  const planted = inWorkspace("ran");
  for (const [name, value] of [
    ["core.fsmonitor", `touch ${planted}; false`],
    ["diff.external", `touch ${planted}; cat`],
    ["diff.planted.textconv", `touch ${planted}; cat`],
    ["core.pager", `touch ${planted}; cat`],
  ] as const)
    git("config", name, value);
  writeFileSync(inWorkspace(".gitattributes"), "* diff=planted\n");
  expect(words(await ask([{ path: ".", only: ["changed"] }]))).toEqual(["MODIFIED changed +1 -1"]);
  expect(existsSync(planted)).toBe(false);
});

test("a difference against a checkpoint has the same form, with modes and links, and survives a restart", async () => {
  makeRepository();
  symlinkSync("kept", inWorkspace("link"));
  const { checkpoint } = await changes.createCheckpoint({ path: ".", label: "before" });
  expect(checkpoint).toMatchObject({ label: "before", files: 5, withoutContent: 0 });
  const base = { case: "checkpointId", value: checkpoint?.id ?? "" } as const;
  expect(words(await ask([{ path: ".", base }]))).toEqual([]);
  changeAll();
  chmodSync(inWorkspace("kept"), 0o755);
  rmSync(inWorkspace("link"));
  await daemon.kill();
  daemon = await daemon.again();
  connect();
  const answer = await ask([{ path: ".", base }]);
  expect(words(answer)).toEqual([
    "MODIFIED changed +1 -1",
    "MODIFIED kept +0 -0",
    "REMOVED link +0 -0",
    "REMOVED removed +0 -1",
    "RENAMED renamed +0 -0",
    "ADDED sub/binary +0 -0",
    "ADDED sub/new +1 -0",
  ]);
  expect(
    await changes.applyPatch({ path: ".", patch: answer?.patch ?? bytes(""), reverse: true }),
  ).toBeDefined();
  expect([read("changed"), read("removed"), read("named"), existsSync(inWorkspace("sub/new"))]).toEqual([
    ...["one\ntwo\nthree\n", "gone\n", "the same\ntext\nas before\n", false],
  ]);
  expect(statSync(inWorkspace("kept")).mode & 0o777).toBe(0o644);
  expect((await changes.listCheckpoints({})).checkpoints.map(({ id }) => id)).toEqual([checkpoint?.id]);
  expect(await changes.removeCheckpoint({ id: checkpoint?.id ?? "" })).toMatchObject({ existed: true });
  expect(await changes.removeCheckpoint({ id: checkpoint?.id ?? "" })).toMatchObject({ existed: false });
  expect(readdirSync(join(daemon.dataRoot, "checkpoints/contents"))).toEqual([]);
});

test("the hash of a workspace is another after any change and the same without one", async () => {
  makeRepository();
  const hash = async (content: boolean) => (await changes.hash({ path: ".", content })).hash;
  const [quick, whole] = [await hash(false), await hash(true)];
  expect([await hash(false), await hash(true)]).toEqual([quick, whole]);
  writeFileSync(inWorkspace("kept"), "kept\n");
  expect(await hash(true)).toBe(whole);
  expect(await hash(false)).not.toBe(quick);
  writeFileSync(inWorkspace("kept"), "KEPT\n");
  expect(await hash(true)).not.toBe(whole);
});

test("a patch is applied whole or not at all", async () => {
  writeFileSync(inWorkspace("a"), "one\n");
  writeFileSync(inWorkspace("b"), "other\n");
  const part = (name: string, from: string, to: string): string =>
    `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${from}\n+${to}\n`;
  const patch = bytes(`${part("a", "one", "1")}${part("b", "two", "2")}`);
  expect(await codeOf(changes.applyPatch({ path: ".", patch }))).toBe("file/precondition");
  expect([read("a"), read("b")]).toEqual(["one\n", "other\n"]);
  writeFileSync(inWorkspace("b"), "two\n");
  const checked = await changes.applyPatch({ path: ".", patch, checkOnly: true });
  expect(checked.files.map(({ path }) => path)).toEqual(["a", "b"]);
  expect(read("a")).toBe("one\n");
  await changes.applyPatch({ path: ".", patch });
  expect([read("a"), read("b")]).toEqual(["1\n", "2\n"]);
});

test.each([
  ["names a file above its folder", "--- a/../up\n+++ b/../up\n@@ -0,0 +1 @@\n+x\n", "exec/invalid"],
  ["names an absolute file", "--- /dev/null\n+++ /etc/planted\n@@ -0,0 +1 @@\n+x\n", "exec/invalid"],
  [
    "makes a link",
    "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n",
    "exec/unsupported",
  ],
  ["is binary", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", "exec/unsupported"],
  ["is none", "hello\n", "exec/invalid"],
  ["makes what is there", "--- /dev/null\n+++ b/there\n@@ -0,0 +1 @@\n+x\n", "file/precondition"],
  [
    "goes through a link out of the workspace",
    "--- /dev/null\n+++ b/out/x\n@@ -0,0 +1 @@\n+x\n",
    "file/denied",
  ],
])("a patch is refused that %s", async (_name, patch, code) => {
  writeFileSync(inWorkspace("there"), "");
  symlinkSync("/etc", inWorkspace("out"));
  expect(await codeOf(changes.applyPatch({ path: ".", patch: bytes(patch) }))).toBe(code);
});

test("an artifact is taken, outlives its file and the daemon, and is restored with its mode", async () => {
  const content = Buffer.alloc(3 * 1024 * 1024, "artifact");
  writeFileSync(inWorkspace("result.bin"), content, { mode: 0o755 });
  const upload = { id: "run-1", source: { case: "path", value: "result.bin" } } as const;
  expect(await artifacts.upload(upload)).toMatchObject({
    existing: false,
    artifact: { name: "result.bin", sizeBytes: BigInt(content.length), mode: 0o755 },
  });
  expect(await artifacts.upload(upload)).toMatchObject({ existing: true });
  writeFileSync(inWorkspace("result.bin"), "other");
  expect(await codeOf(artifacts.upload(upload))).toBe("exec/key-conflict");
  await daemon.kill();
  daemon = await daemon.again();
  connect();
  await artifacts.upload({ id: "small", name: "note", source: { case: "data", value: bytes("hi") } });
  const beyond = await artifacts.read({ id: "small", offset: 2n ** 53n, lengthMax: 10 });
  expect([beyond.data.length, beyond.totalBytes]).toEqual([0, 2n]);
  expect((await artifacts.list({ artifactsMax: 1 })).truncated).toBe(true);
  expect((await artifacts.list({ afterId: "run-1" })).artifacts.map(({ id }) => id)).toEqual(["small"]);
  const restored = { id: "run-1", path: "back/result.bin", precondition: "absent" };
  expect(await artifacts.restore(restored)).toMatchObject({ created: true });
  expect(readFileSync(inWorkspace("back/result.bin")).equals(content)).toBe(true);
  expect(statSync(inWorkspace("back/result.bin")).mode & 0o777).toBe(0o755);
  expect(await codeOf(artifacts.restore(restored))).toBe("file/precondition");
  expect(readdirSync(inWorkspace("back"))).toEqual(["result.bin"]);
  expect((await artifacts.read({ id: "small", offset: 1n })).data).toEqual(bytes("i"));
  expect(await artifacts.remove({ id: "run-1" })).toMatchObject({ existed: true });
  expect(await codeOf(artifacts.restore(restored))).toBe("file/not-found");
  for (const id of ["../up", ".hidden", "a/b", "x".repeat(129)])
    expect(await codeOf(artifacts.remove({ id })), id).toBe("exec/invalid");
  expect(
    await codeOf(artifacts.upload({ id: "secret", source: { case: "path", value: "/proc/self/environ" } })),
  ).toBe("file/denied");
});

test("a picture of the whole machine is refused or done in its time, and others are served meanwhile", async () => {
  const whole = changes.createCheckpoint({ path: "/" }).then(
    () => "done",
    (error: unknown) => ConnectError.from(error).metadata.get("x-sand-code"),
  );
  let isOver = false;
  void whole.then(() => (isOver = true));
  writeFileSync(inWorkspace("small"), "small");
  const { checkpoint } = await changes.createCheckpoint({ path: ".", label: "beside it" });
  expect(checkpoint).toMatchObject({ files: 1 });
  while (!isOver) {
    await daemon.control.ping({});
    await daemon.files.stat({ path: "small" });
  }
  expect(["done", "file/too-large"]).toContain(await whole);
}, 180_000);

test("of what the kernel makes up only the folder's name is in a picture", async () => {
  const others = readdirSync("/").filter((name) => name !== "sys");
  const { checkpoint } = await changes.createCheckpoint({ path: "/", ignore: others });
  expect(checkpoint).toMatchObject({ files: 0, withoutContent: 0 });
});
