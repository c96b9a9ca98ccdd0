import { expect, test } from "vitest";
import { readPatch } from "./patch-files.ts";

const hunk = "@@ -1 +1 @@\n-a\n+b\n";

async function pathsOf(patch: string, more: { strip?: number; reverse?: boolean } = {}) {
  const { strip, reverse = false } = more;
  const parts = await readPatch({ patch: Buffer.from(patch, "latin1"), strip, reverse });
  return parts.map(
    ({ oldPath = "-", newPath = "-", mode }) =>
      `${oldPath}>${newPath}${mode === undefined ? "" : ` ${mode.toString(8)}`}`,
  );
}

const cases: readonly [string, string, { strip?: number; reverse?: boolean }, string][] = [
  ["the letters of git are left out", `--- a/f\n+++ b/f\n${hunk}`, {}, "f>f"],
  ["a plain patch is taken as it is", `--- dir/f\n+++ dir/f\n${hunk}`, {}, "dir/f>dir/f"],
  ["as many parts are left out as are asked for", `--- x/y/f\n+++ x/y/f\n${hunk}`, { strip: 2 }, "f>f"],
  ["a new file has no old one", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", {}, "->f"],
  ["a mode alone is a change", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", {}, "f>f 755"],
  [
    "a rename has both names",
    "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
    {},
    "f>g",
  ],
  [
    "reversed, a new file is a removed one",
    "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n",
    { reverse: true },
    "f>-",
  ],
  ["names are bytes", `--- a/\u00ff\n+++ b/\u00ff\n${hunk}`, {}, "\u00ff>\u00ff"],
];
test.each(cases)("%s", async (_name, patch, more, expected) => {
  expect(await pathsOf(patch, more)).toEqual([expected]);
});

test.each([
  ["nothing", ""],
  ["text", "hello\n"],
  ["a way out", `--- a/../../f\n+++ b/../../f\n${hunk}`],
  ["an absolute name", `--- /f\n+++ /f\n${hunk}`],
  ["a submodule", "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+x\n"],
])("refused: %s", async (_name, patch) => {
  await expect(pathsOf(patch)).rejects.toMatchObject({ name: "BoxError" });
});
