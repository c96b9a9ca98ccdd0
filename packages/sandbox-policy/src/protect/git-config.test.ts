import { expect, test } from "vitest";
import { readGitConfig, readPointer } from "./git-config.ts";

test("the folder of hooks is found however it is written", () => {
  const text = [
    "[core]",
    "\thooksPath = .githooks",
    '[CORE] HooksPath="a b" ; comment',
    "[core]",
    "hookspath = one\\",
    "two",
    "[other]",
    "hooksPath = not-this",
    '[core "sub"]',
    "worktree = ../../tree # where",
  ].join("\n");
  expect(readGitConfig(text)).toEqual({
    hooksPaths: [".githooks", "a b", "onetwo"],
    includes: [],
    worktree: "../../tree",
  });
});

test("included files are found, conditional ones too", () => {
  const text = '[include]\npath = ../shared\n[includeIf "gitdir:/x/"]\n\tpath = "~/more#1"\n';
  expect(readGitConfig(text).includes).toEqual(["../shared", "~/more#1"]);
});

test("a pointer is read with and without its word", () => {
  expect([readPointer("gitdir: ../a/.git\n"), readPointer("../..\n")]).toEqual(["../a/.git", "../.."]);
});
