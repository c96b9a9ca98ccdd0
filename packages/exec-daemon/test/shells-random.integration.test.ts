/**
 * Random changes of a shell's state, one command after another, in a session and in one real interactive bash: both end
 * in the same state. A failure names its seed; `SAND_TEST_SEED` runs that one alone.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createSeededRandom, type SeededRandom } from "../../testkit/src/index.ts";
import { quoteWord } from "../src/shells/shell-state.ts";
import { type ShellsWorld, startShellsWorld } from "./shells-world.ts";

// Some hundred commands for each seed, on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000 });

let world: ShellsWorld;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sand-random-"));
  for (const name of ["one", "two words", "one/deep", "ünï"]) mkdirSync(join(folder, name));
  world = await startShellsWorld();
});
afterAll(async () => {
  await world.daemon.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const names = ["v_a", "v_b", "v_c", "v_list", "v_map"] as const;
const values = [
  "",
  "plain",
  "two  words",
  "it's",
  'dou"ble',
  "new\nline",
  "\t tab",
  "$HOME `x` \\",
  "ünï",
  "*",
  "!x",
  "x\ndeclare -r v_b=\ndeclare -f f_x\n",
] as const;
const shopts = [
  "extglob",
  "nullglob",
  "dotglob",
  "nocaseglob",
  "globstar",
  "nocasematch",
  "lastpipe",
] as const;
const options = ["noglob", "nounset", "pipefail", "noclobber", "allexport"] as const;

type Change = (random: SeededRandom) => string;
const value: Change = (random) => quoteWord(random.pick(values));
const plain: Change = (random) => random.pick(["v_a", "v_b", "v_c"]);

const changes: readonly [Change, ...Change[]] = [
  (random) => `${plain(random)}=${value(random)}`,
  (random) => `export ${plain(random)}=${value(random)}`,
  (random) => `unset ${random.pick(names)}`,
  (random) => `declare ${random.pick(["-i", "-l", "-u", "-x", "+x", "+i"])} ${plain(random)}`,
  (random) => `${plain(random)}=$'\\x${random.pick(["ff", "01", "7f", "c3"])}'`,
  (random) => `v_list=(${value(random)} ${value(random)} [7]=${value(random)})`,
  (random) => `v_list+=(${value(random)})`,
  () => `unset 'v_list[0]'`,
  (random) => `unset v_map; declare -A v_map=([${random.word(2)}]=${value(random)} ['a b']=${value(random)})`,
  (random) => `f_${random.pick(["x", "y-z"])}() { v_a=${value(random)}; echo "$1" <<< in; }`,
  () => "f_x arg 2>/dev/null",
  () => "unset -f f_x",
  () => "declare -F f_x >/dev/null && export -f f_x",
  (random) => `alias l_${random.pick(["a", "b"])}=${value(random)}`,
  () => "unalias l_a 2>/dev/null",
  (random) =>
    `cd ${quoteWord(join(folder, random.pick(["one", "two words", "one/deep", "ünï", "missing"])))} 2>/dev/null`,
  () => "cd - >/dev/null 2>&1",
  () => "cd .. 2>/dev/null",
  (random) => `umask ${random.pick(["022", "077", "027", "002"])}`,
  (random) => `shopt ${random.pick(["-s", "-u"])} ${random.pick(shopts)}`,
  (random) => `set ${random.pick(["-o", "+o"])} ${random.pick(options)}`,
  (random) => `set -- ${value(random)} ${value(random)}`,
  () => "set --",
  () => "(v_a=inner; cd /)",
  (random) => `read -r v_b <<< ${value(random)}`,
  (random) => `printf -v v_c %s ${value(random)}`,
  () => "false",
  () => "v_a=async & wait",
  (random) => `IFS=${random.pick(["' \t\n'", ":", ","])}`,
  () => "unset IFS",
  () => "declare -n v_ref=v_b; v_ref=through; unset -n v_ref",
];

/** Everything that a session keeps, of the names that the changes use. Quoting keeps it the same under any option. */
const dump = [
  'builtin declare -p "${!v_@}" 2>/dev/null',
  'builtin printf "<%s>" "IFS=${IFS-unset}" "PWD=$PWD" "OLD=${OLDPWD-unset}" "$#" "$@"',
  "builtin declare -f f_x f_y-z; builtin declare -F | grep f_; alias -p | grep l_; umask",
  `shopt ${shopts.join(" ")}; set -o | grep -E '${options.join("|")}'`,
].join("\n");

const mark = "=== the state ===";

/** One interactive shell that is told the texts one by one; what ends a text early ends it here as well. */
function runInteractively(texts: readonly string[]): string {
  const quiet = "set +o histexpand +o history +o monitor; PS1= PS2=";
  const input = [
    quiet,
    ...texts.map((text) => `eval ${quoteWord(text)}`),
    `echo '${mark}'`,
    dump,
    "exit",
  ].join("\n");
  const { HOME = "/", PATH = "" } = process.env;
  const ran = spawnSync("/bin/bash", ["--norc", "--noprofile", "--noediting", "-i"], {
    ...{ cwd: world.daemon.workspace, input: Buffer.from(`${input}\n`), encoding: "latin1", timeout: 60_000 },
    env: { PATH, HOME, LANG: "C.UTF-8", TERM: "dumb" },
  });
  return ran.stdout.slice(ran.stdout.lastIndexOf(`${mark}\n`) + mark.length + 1);
}

const seeds =
  process.env.SAND_TEST_SEED === undefined ? [1, 2, 3, 4, 5, 6] : [Number(process.env.SAND_TEST_SEED)];

test.each(seeds)("a session ends in the state of one interactive bash, seed %i", async (seed) => {
  const random = createSeededRandom(seed);
  const texts = Array.from({ length: 20 }, () =>
    Array.from({ length: random.whole(1, 3) }, () => random.pick(changes)(random)).join("\n"),
  );
  const id = await world.create();
  for (const [at, text] of texts.entries()) {
    const ran = await world.run(id, text);
    expect(ran.session.last, texts.slice(0, at + 1).join("\n")).toMatchObject({ stateKept: true });
  }
  const { events } = await world.run(id, dump);
  const bytes = events.flatMap(({ kind }) =>
    kind.case === "output" && kind.value.stream === 1 ? [kind.value.data] : [],
  );
  expect(Buffer.concat(bytes).toString("latin1"), texts.join("\n")).toBe(runInteractively(texts));
});
