/** `sand replay`, `sand export` and `sand import` with a real host, while it runs and when it is down. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestHome, type Ran } from "./run-sand.ts";

const env = { SAND_SANDBOX: "off", SAND_HOST_PORT: "0" };

test("turns are replayed and agents carried while the host runs, and turns also when it is down", async () => {
  using home = createTestHome();
  const sand = (...words: readonly string[]): Promise<Ran> => home.run(words, { env });
  try {
    await sand("up", "--local");
    await sand("agents", "create", "ann");
    await sand("send", "ann", "hello there");
    const all = await sand("replay", "--agent", "ann", "--json");
    expect([all.code, all.stderr]).toEqual([0, ""]);
    const { turnId } = Object(JSON.parse(all.stdout.split("\n")[0] ?? ""));

    const archive = join(home.folder, "ann.sand.tgz");
    expect((await sand("export", "ann", archive)).code).toBe(0);
    expect((await sand("export", "ann", archive)).code).toBe(5);
    const imported = await sand("import", archive, "--name", "bea", "--json");
    expect([imported.code, imported.stderr]).toEqual([0, ""]);
    expect(Object(JSON.parse(imported.stdout))).toMatchObject({ kind: "imported", isShown: true });
    expect((await sand("transcript", "bea")).stdout).toContain("hello there");
    expect((await sand("replay", "--agent", "bea")).code).toBe(0);
    expect((await sand("import", home.folder)).code).not.toBe(0);

    await sand("down", "--force");
    const fixture = join(home.folder, "turn.json");
    expect((await sand("replay", turnId, "--agent", "ann", "--export", fixture)).code).toBe(0);
    expect((await sand("replay", "--import", fixture)).code).toBe(0);
    writeFileSync(fixture, readFileSync(fixture, "utf8").replace("hello there", "hello here"));
    expect((await sand("replay", "--import", fixture)).code).toBe(1);
    expect((await sand("replay", "no-such-turn")).code).toBe(6);
    expect((await sand("replay")).code).toBe(2);
  } finally {
    await sand("down", "--force");
  }
}, 300_000);
