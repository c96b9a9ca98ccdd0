/** Terminals over their WebSocket: real programs, real sockets. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PtyWorld, startPtyWorld } from "./pty-world.ts";

let world: PtyWorld;
beforeAll(async () => {
  world = await startPtyWorld();
});
afterAll(() => world.dispose());

test("a program in a terminal is seen from its first byte, and its end closes with 1000", async () => {
  const id = await world.spawn(["sh", "-c", "tty >/dev/null && echo is a terminal; exit 7"]);
  const client = await world.attach(id, "since=0");
  expect(await client.closed()).toMatchObject({ code: 1000 });
  const shown = client.text() || String((await client.heard("snapshot")).data);
  expect(shown).toContain("is a terminal");
  expect(await client.heard("exit")).toEqual({ type: "exit", code: 7, signal: null });
});

test("what is typed reaches the program, in the folder and environment of commands", async () => {
  const id = await world.spawn(["/bin/bash", "--norc"], { env: { PS1: "$ ", COLOUR: "red" } });
  const client = await world.attach(id, "cols=90&rows=20");
  client.type('echo "$PWD $COLOUR $TERM $(stty size)"\n');
  await client.saw(new RegExp(`${world.workspace} red xterm-256color 20 90`));
  client.type("exit\n");
  expect(await client.closed()).toMatchObject({ code: 1000 });
});
