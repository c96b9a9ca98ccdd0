/** `sand backup` and `sand restore` as a person uses them, without a host. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestHome, type Ran, type TestHome } from "./run-sand.ts";

let home: TestHome;
beforeEach(() => {
  home = createTestHome();
});
afterEach(() => home[Symbol.dispose]());

/** each run is two processes from their sources, and the machine may be busy */
const unhurried = { timeout: 240_000 };

const store = (): string => join(home.folder, "store");
const profile = (root: string): string => join(root, "agents", "ada", "profile.json");
const run = (...words: string[]): Promise<Ran> => home.run(words);

function makeAgent(name: string): void {
  mkdirSync(join(home.dataRoot, "agents", "ada"), { recursive: true });
  writeFileSync(profile(home.dataRoot), JSON.stringify({ name }));
}

/** the documents of an output of `--json` */
const documents = ({ stdout }: Ran): readonly Readonly<Record<string, unknown>>[] =>
  stdout
    .trim()
    .split("\n")
    .map((line): Readonly<Record<string, unknown>> => ({ ...JSON.parse(line) }));

test("a backup, a list, a look and a restore to an earlier state", unhurried, async () => {
  makeAgent("Ada");
  const first = await run("backup", "--to", store());
  expect([first.code, first.stdout]).toEqual([
    0,
    expect.stringMatching(/^1-[0-9a-f]{8} {2}1 files of 1 agents/u),
  ]);
  expect((await run("backup", "--to", store())).stdout).toMatch(/^Nothing has changed since 1-/u);
  makeAgent("Ada Lovelace");
  await run("backup", "--to", store());

  const listed = documents(await run("restore", "--from", store(), "--list", "--json"));
  expect(listed.map(({ number }) => number)).toEqual([1, 2]);
  const looked = await run("restore", "--from", store(), "--dry-run");
  expect([looked.code, looked.stdout]).toEqual([
    0,
    expect.stringMatching(/^2-[0-9a-f]{8} of .* is whole: 1 files/u),
  ]);

  const then = join(home.folder, "then");
  const restored = await run(
    "restore",
    "--from",
    store(),
    "--at",
    String(listed[0]?.id),
    "--data-root",
    then,
  );
  expect(restored.code).toBe(0);
  expect(readFileSync(profile(then), "utf8")).toBe('{"name":"Ada"}');
  expect(readdirSync(then).sort()).toEqual(["agents", "box-store"]);
});

test("a data root that isn't empty is refused with what to do", unhurried, async () => {
  makeAgent("Ada");
  await run("backup", "--to", store());
  const refused = await run("restore", "--from", store());
  expect(refused.code).toBe(5);
  expect(refused.stderr).toMatch(/is not empty\n {2}restore into a folder that is empty/u);
});

test.each([
  [["backup"], 2, /no box store is named\n.*--to <folder>/u],
  [["backup", "--to", "ftp://x/y"], 2, /names no box store/u],
  [["backup", "--to", "s3://boxes"], 2, /no credentials for S3\n.*SAND_BOX_STORE_ACCESS_KEY_ID/u],
  [["restore", "--from", "nowhere", "--dry-run"], 6, /no snapshots/u],
  [["restore", "--from", "nowhere", "--at", "soon", "--dry-run"], 6, /neither a snapshot's id nor a time/u],
] as const)("%j says what is wrong", unhurried, async (words, code, message) => {
  makeAgent("Ada");
  const ran = await run(...words);
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(message)]);
});

test("a folder with other things in it isn't taken for a store", unhurried, async () => {
  makeAgent("Ada");
  const ran = await run("backup", "--to", home.folder);
  expect([ran.code, ran.stderr]).toEqual([7, expect.stringMatching(/holds other things than a box store/u)]);
});

test("another data root doesn't write to a store until it is told to take it over", unhurried, async () => {
  makeAgent("Ada");
  await run("backup", "--to", store());
  const other = join(home.folder, "other");
  mkdirSync(join(other, "agents", "bob"), { recursive: true });
  writeFileSync(join(other, "agents", "bob", "profile.json"), "{}");
  const refused = await run("backup", "--to", store(), "--data-root", other);
  expect([refused.code, refused.stderr]).toEqual([
    5,
    expect.stringMatching(/another host writes to this box store/u),
  ]);
  expect((await run("backup", "--to", store(), "--data-root", other, "--take-over")).code).toBe(0);
  expect((await run("backup", "--to", store())).code).toBe(5);
});
