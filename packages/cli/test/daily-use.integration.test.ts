/** The commands for every day with the real host and daemon, from their sources. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestHome, type Ran, waitFor } from "./run-sand.ts";

const env = { SAND_SANDBOX: "auto", SAND_HOST_PORT: "0" };

/** A host that is gone at the end, whatever happened. */
async function startWorld() {
  const home = createTestHome();
  const sand = (...words: readonly string[]): Promise<Ran> => home.run(words, { env });
  await sand("up", "--local");
  return {
    home,
    sand,
    start: (...words: readonly string[]) => home.start(words, { env }),
    json: async (...words: readonly string[]) => Object(JSON.parse((await sand(...words, "--json")).stdout)),
    [Symbol.asyncDispose]: async () => {
      await sand("down", "--force");
      home[Symbol.dispose]();
    },
  };
}

function linesOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => Object(JSON.parse(line)));
}

const limitMs = 180_000;

test(
  "an agent is made, renamed, switched and shown; its turn is in the transcript, the events and the logs",
  async () => {
    await using world = await startWorld();
    const { sand, json, start } = world;
    const made = await json("agents", "create", "first", "--title", "T", "--description", "D");
    expect(await json("agents", "rename", "first", "second")).toMatchObject({
      ...{ id: made.id, name: "second", title: "T", description: "D" },
    });
    await sand("agents", "hide", "second");
    await sand("agents", "notifications", "second", "off");
    expect((await json("agents", "show", "second")).agent).toMatchObject({
      ...{ isHiddenFromSidebar: true, notificationsEnabled: false },
    });
    expect((await sand("agents")).stdout).toBe("1 hidden; --all shows them\n");

    const following = start("transcript", "second", "--follow", "--json");
    const events = start("events", "--json", "--since", "0", "--agent", "second");
    await waitFor("the first event", () => events.stdout() !== "", 60_000);
    expect((await sand("send", "second", "run: echo from-the-box", "--wait")).code).toBe(0);
    await waitFor("the answer", () => following.stdout().includes('"send-message"'), 60_000);
    await waitFor("its event", () => events.stdout().includes('"send-message"'), 60_000);
    for (const { child } of [following, events]) child.kill("SIGTERM");
    await Promise.all([following.ended, events.ended]);

    const stored = linesOf((await sand("transcript", "second", "--all", "--json")).stdout);
    expect(stored.map((entry) => entry.kind)).toEqual(["message", "tool-call", "send-message"]);
    // Each entry was followed up to the state in which it is stored.
    const followed = new Map(linesOf(following.stdout()).map((entry) => [entry.id, entry]));
    expect([...followed.values()]).toEqual(stored);
    const ids = linesOf(events.stdout()).map((event) => Number(event.id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const shown = (await sand("transcript", "second")).stdout;
    expect(shown).toContain("you: run: echo from-the-box\n▸ Shell");
    expect(shown).toContain("  │ from-the-box\n  ✓ completed\n");

    const foundBy = Date.now() + 60_000;
    while ((await sand("search", "from-the-b")).stdout === "") expect(Date.now()).toBeLessThan(foundBy);
    expect((await sand("search", "from-the-b")).stdout).toContain("  second  you: run: echo from-the-box\n");
    expect((await sand("search", "--rebuild")).stdout).toBe("the search knows all of 1 agents\n");
    expect(linesOf((await sand("search", "--json", "--limit", "1", "from-the-box")).stdout)).toHaveLength(1);

    // The daemon runs by now.
    expect(await sand("exec", "echo", "by hand")).toEqual({ code: 0, stdout: "by hand\n", stderr: "" });
    const sources = linesOf((await sand("logs", "--json")).stdout).map((line) => line.source);
    expect(new Set(sources)).toEqual(new Set(["host", "daemon"]));
  },
  limitMs,
);

test(
  "in the foreground the host's log is ours, its port answers, and Ctrl-C ends it with status 0",
  async () => {
    using home = createTestHome();
    const sand = home.start(["up", "--foreground"], { env });
    const readPort = () =>
      Number(Object(JSON.parse(readFileSync(join(home.dataRoot, "gateway.json"), "utf8"))).port);
    try {
      await waitFor("the host's log line", () => sand.stderr().includes('"host.started"'), 60_000);
      expect((await fetch(`http://127.0.0.1:${readPort()}/health`)).status).toBe(200);
      expect((await home.run(["status", "--json"])).code).toBe(0);
    } finally {
      sand.child.kill("SIGINT");
    }
    expect((await sand.ended).code).toBe(0);
    expect((await home.run(["status"])).code).toBe(3);
  },
  limitMs,
);
