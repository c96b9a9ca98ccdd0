import { expect, test } from "vitest";
import { resolvePath } from "./resolve-path.ts";

test.each([
  ["an absolute path stays", "/a/b", "/a/b"],
  ["a relative one lies beneath the home", "a/b", "/home/user/a/b"],
  ["a dot is the home", ".", "/home/user"],
  ["dots are taken out", "/a/./b/../c", "/a/c"],
  ["nothing above the root", "../../../../x", "/x"],
  ["a tilde is the home", "~", "/home/user"],
  ["a path behind a tilde lies beneath the home", "~/a", "/home/user/a"],
  ["a tilde within is a name", "a~", "/home/user/a~"],
  ["no path is what is said for it", "", "/work"],
])("%s", (_rule, text, path) => {
  expect(resolvePath(text, "/home/user", "/work")).toBe(path);
});

test.each([
  ["another account's home", "~root/x"],
  ["a NUL", "a\0b"],
  ["a path that is too long", "x".repeat(5000)],
])("%s is refused", (_what, text) => {
  expect(() => resolvePath(text, "/home/user")).toThrow(/invalid_argument/u);
});
