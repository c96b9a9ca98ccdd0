import { FileType } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { asRaw } from "../raw-path.ts";
import { createMoves } from "./pair-moves.ts";
import type { SeenEntry } from "./seen-entry.ts";

const file = (inode: number, bornMs = 1): SeenEntry => ({
  ...{ type: FileType.FILE, inode, bornMs, size: 3, modifiedMs: 10, mode: 0o644, owner: "0:0" },
});
const at = (name: string, entry: SeenEntry, over?: boolean) => ({
  ...{ folder: "top", name, path: asRaw(name), entry },
  ...(over === undefined ? {} : { over }),
});

function settle(left: readonly ReturnType<typeof at>[], came: readonly ReturnType<typeof at>[]) {
  const moves = createMoves<string>();
  for (const one of left) moves.left(one);
  for (const one of came) moves.came(one);
  const { renamed, removed, created } = moves.settle();
  return {
    renamed: renamed.map(({ from, to }) => `${from.path}>${to.path}`),
    removed: removed.map(({ path }) => path),
    created: created.map(({ path }) => path),
  };
}

test("the same inode that left one name and came to another was renamed", () => {
  expect(settle([at("a", file(1))], [at("b", file(1))])).toEqual({
    ...{ renamed: ["a>b"], removed: [], created: [] },
  });
});

test("a reused inode of another birth is a removal and a creation", () => {
  expect(settle([at("a", file(1))], [at("b", file(1, 2))])).toEqual({
    ...{ renamed: [], removed: ["a"], created: ["b"] },
  });
});

test("a rename over a file takes its place, and the file that was there isn't told as removed", () => {
  expect(settle([at("a", file(1)), at("b", file(2), true)], [at("b", file(1), true)])).toEqual({
    ...{ renamed: ["a>b"], removed: [], created: [] },
  });
});

test("two names of one file that are both gone pair with one new name only", () => {
  expect(settle([at("a", file(1)), at("b", file(1))], [at("c", file(1))])).toEqual({
    ...{ renamed: ["a>c"], removed: ["b"], created: [] },
  });
});
