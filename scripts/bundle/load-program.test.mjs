/** A bundle that carries its program compressed: it runs with a code cache as without, and never with one that isn't its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { carryProgram, readProgram } from "./load-program.mjs";

/** says its own name, whether it may load modules in the usual ways, and lives until it is ended */
const program = (name) => `
const beside = require("./beside.cjs");
const { basename } = require("node:path");
console.log([${JSON.stringify(name)}, beside, basename(__filename), module === require.main, /a*/.test("")].join(" "));
if (process.env.LIVES === "1") setInterval(() => {}, 1_000);
`;
const waitMaxMs = 60_000;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-carried-"));
  writeFileSync(join(folder, "beside.cjs"), 'module.exports = "beside";');
  mkdirSync(join(folder, "data"), { mode: 0o700 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = () => join(folder, "main.cjs");
const kept = () => join(folder, "data", "code-cache");
const plant = (name, more = {}) => writeFileSync(file(), carryProgram({ text: program(name), ...more }));
const cacheNames = () =>
  existsSync(kept()) ? readdirSync(kept()).filter((name) => !name.startsWith(".")) : [];

async function run({ args = [], until } = {}) {
  const env = { PATH: process.env.PATH, SAND_DATA_ROOT: join(folder, "data"), LIVES: until ? "1" : "0" };
  const child = spawn(process.execPath, [file(), ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said += chunk;
    });
  }
  const deadlineMs = performance.now() + waitMaxMs;
  while (until && !until() && performance.now() < deadlineMs)
    await new Promise((tick) => setTimeout(tick, 20));
  if (until) child.kill("SIGTERM");
  await ended;
  return said;
}
const runUntilKept = () => run({ until: () => cacheNames().length > 0 });
const line = (name) => `${name} beside main.cjs true true\n`;

test("a carried program loads modules as if it were the file itself, and can be read again", async () => {
  plant("one", { banner: "// a banner", tail: "// a tail\n" });
  const text = readFileSync(file(), "utf8");
  expect(text.startsWith("// a banner\n")).toBe(true);
  expect(readProgram(text)).toContain(program("one"));
  expect(await run()).toBe(line("one"));
});

test("the first start leaves a code cache in the data root, and the next one takes it", async () => {
  plant("one");
  expect(await runUntilKept()).toBe(line("one"));
  const [name] = cacheNames();
  const cache = readFileSync(join(kept(), name));
  // The cache holds the text too, so a bundle whose own text is lost shows that it is taken.
  writeFileSync(file(), readFileSync(file(), "utf8").replace(/^\/\/ sand-program .*$/m, "// sand-program "));
  expect(await run()).toBe(line("one"));
  // The same beside the bundle, where the build puts it.
  rmSync(kept(), { recursive: true });
  writeFileSync(`${file()}.code-cache`, cache);
  expect(await run()).toBe(line("one"));
});

test("a cache that is damaged, torn or of another program is not taken", async () => {
  plant("one");
  await runUntilKept();
  const [name] = cacheNames();
  const cache = readFileSync(join(kept(), name));
  const flipped = Buffer.from(cache);
  flipped[cache.length - 100] ^= 1;
  for (const bytes of [flipped, cache.subarray(0, cache.length / 2), Buffer.alloc(0), Buffer.from("junk")]) {
    writeFileSync(join(kept(), name), bytes);
    expect(await run()).toBe(line("one"));
  }
  // As long as the first, which is all that V8 itself would look at.
  plant("two");
  writeFileSync(`${file()}.code-cache`, cache);
  expect(await run()).toBe(line("two"));
});

test("a new program's cache takes the place of the old one's", async () => {
  plant("one");
  await runUntilKept();
  const [old] = cacheNames();
  plant("two");
  expect(
    await run({ until: () => cacheNames().some((name) => name !== old) && cacheNames().length === 1 }),
  ).toBe(line("two"));
});

test("a data root that takes no cache stops nothing", async () => {
  plant("one");
  writeFileSync(kept(), "a file where the folder should be");
  expect(await run()).toBe(line("one"));
});
