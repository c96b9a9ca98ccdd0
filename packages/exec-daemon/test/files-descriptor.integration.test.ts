/** The steps that every walk is made of, each by itself: what a race would have to find open is closed. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { factsAt, folderFlags, openFolderAt, realPathOf } from "../src/files/descriptor.ts";
import { errnoOf } from "../src/files/file-errors.ts";
import { openRegular } from "../src/files/open-regular.ts";
import type { PathFence } from "../src/files/path-fence.ts";
import { asRaw } from "../src/files/raw-path.ts";
import { createFloodGauge } from "../src/files/watch/flood-gauge.ts";

let root: string;
let folder: number;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "sand-steps-"));
  mkdirSync(join(root, "real"));
  writeFileSync(join(root, "real/file"), "");
  symlinkSync("real", join(root, "link"));
  symlinkSync("real/file", join(root, "file-link"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  folder = openSync(root, folderFlags);
});
afterEach(() => {
  closeSync(folder);
  rmSync(root, { recursive: true });
});

const checked: string[] = [];
const fence: PathFence = {
  closed: [],
  locate: ({ path }) => asRaw(path),
  locateRaw: (path) => path,
  show: (path) => path,
  check: (path, access) => void checked.push(`${access} ${path}`),
  checkReach: () => undefined,
  checkRemovable: () => undefined,
};

test("a folder is entered by its own name and never through a link", () => {
  const inner = openFolderAt(folder, "real");
  expect(realPathOf(inner)).toBe(join(root, "real"));
  closeSync(inner);
  expect(() => openFolderAt(folder, "link")).toThrow("ENOTDIR");
  expect(factsAt(folder, "link").isSymbolicLink()).toBe(true);
});

test("a descriptor stays the folder that it is, whatever its name is turned into", () => {
  const inner = openFolderAt(folder, "real");
  rmSync(join(root, "link"));
  execFileSync("mv", [join(root, "real"), join(root, "moved")]);
  symlinkSync("/etc", join(root, "real"));
  expect(realPathOf(inner)).toBe(join(root, "moved"));
  expect(factsAt(inner, "file").isFile()).toBe(true);
  closeSync(inner);
});

test.each(["file-link", "link", "real", "pipe"])(
  "what isn't a regular file isn't opened as one: %s",
  async (name) => {
    const place = { folder, name: asRaw(name), path: asRaw(join(root, name)) };
    const failure = await openRegular(fence, place, constants.O_RDONLY, "read").catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ code: "file/not-a-file" });
  },
);

test("where a file really lies is asked of the fence before it is read", async () => {
  const inner = openFolderAt(folder, "real");
  checked.length = 0;
  const place = { folder: inner, name: asRaw("file"), path: asRaw("whatever") };
  await (await openRegular(fence, place, constants.O_RDONLY, "read")).close();
  expect(checked).toEqual([`read ${join(root, "real/file")}`]);
  closeSync(inner);
});

test("as many notices in one turn as a full queue has are an alarm, and as many over several turns are none", async () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  let alarms = 0;
  const gauge = createFloodGauge(() => (alarms += 1), 400);
  for (let round = 0; round < 5; round += 1) {
    for (let index = 0; index < 99; index += 1) gauge.count();
    await turn();
    await turn();
  }
  expect(alarms).toBe(0);
  for (let index = 0; index < 100; index += 1) gauge.count();
  await turn();
  await turn();
  expect(alarms).toBe(1);
});

test("what the system says is found in an error", () => {
  expect(errnoOf(Object.assign(new Error("x"), { code: "EMFILE" }))).toBe("EMFILE");
  expect(errnoOf("EMFILE")).toBeUndefined();
});
