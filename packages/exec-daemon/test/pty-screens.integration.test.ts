/** Programs that draw the whole screen, compared with what tmux shows of the same. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectSameScreen, openTmux, screenOf, type TmuxScreen } from "./pty-screen.ts";
import { type PtyClient, type PtyWorld, startPtyWorld } from "./pty-world.ts";

const [cols, rows] = [80, 24];
const required = process.env.SAND_TEST_REQUIRE?.split(",").includes("terminals") ?? false;

function hasPrograms(...names: readonly string[]): boolean {
  return required || ["tmux", ...names].every((name) => existsSync(`/usr/bin/${name}`));
}

let world: PtyWorld;
beforeAll(async () => {
  world = await startPtyWorld();
  writeFileSync(
    join(world.workspace, "poem.txt"),
    Array.from({ length: 200 }, (_, n) => `line ${n} of a poem, größer\n`).join(""),
  );
});
afterAll(() => world.dispose());

/** the lines that show the file: the program is there and has drawn them */
const poem = (lines: readonly string[]): string[] =>
  lines[3]?.includes("line 3") ? [...lines.slice(0, rows - 1)] : [""];

/** the screen once it shows that text; keys take their time to be heard */
const showing =
  (text: string) =>
  (lines: readonly string[]): readonly string[] =>
    lines.join("\n").includes(text) ? lines : [""];

interface Pair {
  readonly id: string;
  readonly client: PtyClient;
  readonly tmux: TmuxScreen;
}

/** Runs a program on both sides, and ends both afterwards. */
async function onBoth(
  name: string,
  argv: readonly string[],
  work: (pair: Pair) => Promise<void>,
): Promise<void> {
  const tmux = openTmux(join(world.workspace, `../${name}.tmux`), { argv, cwd: world.workspace, cols, rows });
  const id = await world.spawn(argv, { cols, rows, env: { LANG: "C.UTF-8" } });
  const client = await world.attach(id, `cols=${cols}&rows=${rows}`);
  try {
    await work({ id, client, tmux });
  } finally {
    tmux.dispose();
    await client.close();
    await world.call("DELETE", `/terminals/${id}`);
  }
}

/** As somebody sees it who comes now and looks on. */
async function seenAnew(id: string, width = cols): Promise<string[]> {
  const viewer = await world.attach(id, "mode=view");
  const lines = await screenOf(viewer, width, rows);
  await viewer.close();
  return lines;
}

describe("a program that draws the screen", () => {
  test.skipIf(!hasPrograms("vim"))(
    "vim shows in a terminal what it shows in tmux, also after a picture",
    async () => {
      await onBoth(
        "vim",
        ["vim", "-u", "NONE", "-N", "-n", "-i", "NONE", "poem.txt"],
        async ({ id, client, tmux }) => {
          await expectSameScreen(() => screenOf(client, cols, rows), tmux.lines, poem);
          client.type(":set number\r12Gdd3jihello there\u001b");
          tmux.type(":set number", "Enter", "1", "2", "G", "d", "d", "3", "j", "i", "hello there", "Escape");
          await expectSameScreen(
            () => screenOf(client, cols, rows),
            tmux.lines,
            showing("hello thereline 15"),
          );
          await expectSameScreen(() => seenAnew(id), tmux.lines);
        },
      );
    },
  );

  test.skipIf(!hasPrograms("less"))("less pages and searches in a terminal as in tmux", async () => {
    await onBoth("less", ["less", "poem.txt"], async ({ id, client, tmux }) => {
      await expectSameScreen(() => screenOf(client, cols, rows), tmux.lines, poem);
      client.type("  /line 77\rj");
      tmux.type("Space", "Space", "/", "line 77", "Enter", "j");
      await expectSameScreen(
        () => screenOf(client, cols, rows),
        tmux.lines,
        (lines) => (lines[0]?.includes("line 78") ? lines : [""]),
      );
      await expectSameScreen(() => seenAnew(id), tmux.lines);
    });
  });

  test.skipIf(!hasPrograms("htop"))(
    "htop draws its table in a terminal as in tmux, and takes keys",
    async () => {
      await onBoth("htop", ["htop", "--no-color"], async ({ id, client, tmux }) => {
        // Figures change all the time; the frame around them doesn't.
        const frame = (lines: readonly string[]): string[] => [
          lines.find((line) => /PID\W*USER/u.test(line)) ?? "",
          lines[rows - 1] ?? "",
        ];
        await expectSameScreen(() => screenOf(client, cols, rows), tmux.lines, frame);
        client.type("\u001bOR");
        tmux.type("F3");
        await expectSameScreen(
          () => seenAnew(id),
          tmux.lines,
          (lines) => (lines[rows - 1]?.includes("Search") ? frame(lines) : [""]),
        );
      });
    },
  );

  test.skipIf(!hasPrograms("vim"))(
    "who comes back at another width sees the screen of that width",
    async () => {
      await onBoth(
        "wide",
        ["vim", "-u", "NONE", "-N", "-n", "-i", "NONE", "poem.txt"],
        async ({ id, client, tmux }) => {
          await expectSameScreen(() => screenOf(client, cols, rows), tmux.lines, poem);
          client.type("5J");
          tmux.type("5", "J");
          await expectSameScreen(() => screenOf(client, cols, rows), tmux.lines);
          await client.close();
          const again = await world.attach(id, `since=${client.offset}&cols=120&rows=${rows}`);
          tmux.resize(120, rows);
          expect(await again.heard("hello")).toMatchObject({ replay: "snapshot" });
          await expectSameScreen(() => screenOf(again, 120, rows), tmux.lines, showing("größer line 4"));
          await expectSameScreen(() => seenAnew(id, 120), tmux.lines);
          await again.close();
        },
      );
    },
  );
});

test("long lines of a shell are broken anew for who comes back at another width", async () => {
  const text = Array.from({ length: 30 }, (_, n) => `word${n}`).join(" ");
  const id = await world.spawn(["/bin/sh", "-c", `echo ${text}; exec cat`], { cols: 80, rows });
  const first = await world.attach(id, "since=0&cols=80&rows=24");
  await first.saw(/word29/u);
  await first.close();
  const again = await world.attach(id, `since=${first.offset}&cols=40&rows=${rows}`);
  const lines = await screenOf(again, 40, rows);
  expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
  expect(lines.every((line) => line.length <= 40)).toBe(true);
  await again.close();
});
