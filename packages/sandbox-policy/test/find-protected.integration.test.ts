import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createProtectedFinder, type ProtectedFinds } from "../src/index.ts";

let folder: string;
const at = (...names: string[]): string => join(folder, ...names);
const finder = createProtectedFinder();

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sand-protect-")));
  mkdirSync(at("home"));
  mkdirSync(at("w"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function git(cwd: string, ...args: string[]): void {
  const identity = [
    "-c",
    "user.name=t",
    "-c",
    "user.email=t@example.com",
    "-c",
    "protocol.file.allow=always",
  ];
  const env = { PATH: process.env.PATH ?? "", HOME: at("home"), GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", [...identity, ...args], { cwd, env, stdio: "pipe" });
}

function repository(path: string): void {
  mkdirSync(path, { recursive: true });
  git(path, "init", "--quiet");
  git(path, "commit", "--quiet", "--allow-empty", "--message", "first");
}

function find(root = at("w")): ProtectedFinds {
  return finder.find({ roots: [root], home: at("home") });
}

function protection(finds: ProtectedFinds): Record<string, string> {
  return Object.fromEntries(finds.paths.map(({ path, how }) => [path.slice(folder.length), how]));
}

test("a repository's hooks and configuration are closed, its objects and refs aren't", () => {
  repository(at("w"));
  expect(protection(find())).toMatchObject({ "/w/.git/hooks": "read-only", "/w/.git/config": "read-only" });
  expect(Object.keys(protection(find()))).not.toContain("/w/.git/objects");
});

test("hooks that aren't there can't be made", () => {
  repository(at("w"));
  rmSync(at("w/.git/hooks"), { recursive: true });
  expect(protection(find())).toMatchObject({ "/w/.git/hooks": "absent-folder" });
});

test("hooks that core.hooksPath or an included file moves are closed where they are", () => {
  repository(at("w"));
  mkdirSync(at("w/.githooks"));
  writeFileSync(at("w/shared.cfg"), "[core]\n hooksPath = tools/hooks\n");
  git(at("w"), "config", "core.hooksPath", ".githooks");
  git(at("w"), "config", "include.path", "../shared.cfg");
  expect(protection(find())).toMatchObject({
    "/w/.githooks": "read-only",
    "/w/shared.cfg": "read-only",
    "/w/tools/hooks": "absent-folder",
  });
});

test("hooks that are a link close what they lead to and the whole git folder", () => {
  repository(at("w"));
  rmSync(at("w/.git/hooks"), { recursive: true });
  mkdirSync(at("w/my-hooks"));
  symlinkSync("../my-hooks", at("w/.git/hooks"));
  expect(protection(find())).toMatchObject({ "/w/my-hooks": "read-only", "/w/.git": "read-only" });
});

test("a worktree's pointer is closed, and the shared git folder is opened without its hooks", () => {
  repository(at("main"));
  git(at("main"), "worktree", "add", "--quiet", at("w/tree"));
  const finds = find();
  expect(finds.openedRoots).toEqual([at("main/.git")]);
  expect(protection(finds)).toMatchObject({
    "/w/tree/.git": "read-only",
    "/main/.git/hooks": "read-only",
    "/main/.git/config": "read-only",
    "/main/.git/worktrees/tree/commondir": "read-only",
    "/main/.git/worktrees/tree/gitdir": "read-only",
  });
});

test("a pointer that a command made up opens nothing", () => {
  repository(at("main"));
  git(at("main"), "worktree", "add", "--quiet", at("other"));
  mkdirSync(at("w/fake"));
  writeFileSync(at("w/fake/.git"), `gitdir: ${at("main/.git/worktrees/other")}\n`);
  expect(find().openedRoots).toEqual([]);
});

test("a submodule's hooks are closed in the folder where they really are", () => {
  repository(at("lib"));
  repository(at("w"));
  git(at("w"), "submodule", "--quiet", "add", at("lib"), "vendor/lib");
  expect(protection(find())).toMatchObject({
    "/w/vendor/lib/.git": "read-only",
    "/w/.git/modules/vendor/lib/hooks": "read-only",
    "/w/.git/modules/vendor/lib/config": "read-only",
  });
});

test("a `.git` that is a link is followed, and the link is named to be watched", () => {
  repository(at("real"));
  symlinkSync("../real/.git", at("w/.git"));
  const finds = find();
  expect(protection(finds)).toMatchObject({ "/real/.git/hooks": "read-only" });
  expect(finds.links).toEqual([{ path: at("w/.git"), target: "../real/.git" }]);
});

test("agents' settings are closed where they are and can't be made where they aren't", () => {
  mkdirSync(at("w/.claude"));
  writeFileSync(at("w/.mcp.json"), "{}");
  expect(protection(find())).toMatchObject({
    "/w/.claude": "read-only",
    "/w/.mcp.json": "read-only",
    "/w/.codex": "absent-folder",
  });
});

test("in a home that can be written, shells' start files and ssh's folder are closed", () => {
  writeFileSync(at("home/.bashrc"), "");
  expect(protection(find(at("home")))).toMatchObject({
    "/home/.bashrc": "read-only",
    "/home/.zshrc": "absent-file",
    "/home/.ssh": "absent-folder",
  });
});

test("an answer is kept until something changes, and then it is a new one", () => {
  repository(at("w"));
  const first = find();
  expect(find()).toBe(first);
  repository(at("w/inner"));
  expect(protection(find())).toMatchObject({ "/w/inner/.git/hooks": "read-only" });
  git(at("w/inner"), "config", "core.hooksPath", "moved");
  expect(protection(find())).toMatchObject({ "/w/inner/moved": "absent-folder" });
});

test("a mount point of ours isn't there, and neither its coming nor its going is a change", () => {
  repository(at("w"));
  const first = find();
  const ignored = new Set([at("w/.claude"), at("w/.codex")]);
  for (const path of ignored) mkdirSync(path);
  const search = { roots: [at("w")], home: at("home") };
  expect(finder.find({ ...search, ignored })).toBe(first);
  expect(protection(finder.find(search))).toMatchObject({ "/w/.claude": "read-only" });
});
