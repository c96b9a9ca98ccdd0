/** Links to a terminal that the native shim keeps: what a daemon that comes back relies on. */
import { closeSync, openSync } from "node:fs";
import { createConnection } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTerminalLink } from "../src/keeper/terminal-link.ts";
import type { TrackedExecution } from "../src/ledger/tracked-execution.ts";
import { until } from "./daemon-process.ts";
import { hasShim, type ShimWorld, startShimWorld } from "./shim-world.ts";

describe.skipIf(!hasShim)("terminals of the native shim", () => {
  let world: ShimWorld;
  beforeAll(async () => {
    world = await startShimWorld();
  });
  afterAll(() => world.dispose());

  const terminal = { cols: 80, rows: 24 };
  const startTerminal = (id: string, script: string) => world.start(id, script, { stdin: true, terminal });

  function listen(execution: TrackedExecution, after: number) {
    const pieces: { readonly offset: number; readonly bytes: Buffer }[] = [];
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const link = openTerminalLink({
      ...{ execution, after },
      onOutput: (bytes, offset) => pieces.push({ offset, bytes: Buffer.from(bytes) }),
      onEnd: resolve,
    });
    const text = (): string => Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
    return {
      link,
      ended,
      pieces,
      text,
      heard: (word: string) => until(word, () => text().includes(word) || undefined),
    };
  }

  test("a link that is opened again from an offset gets the rest, and no byte twice", async () => {
    const execution = await startTerminal(
      "again",
      "stty -echo; echo before; read x; seq 1 3000; read y; echo after",
    );
    const first = listen(execution, 0);
    await first.heard("before");
    await first.link.write(Buffer.from("\n"));
    await first.heard("\n1500\r");
    // As when a daemon dies: nobody listens, and the shim goes on.
    first.link.close();
    const known = first.text().indexOf("1500");
    const second = listen(execution, known);
    await second.heard("3000");
    await second.link.write(Buffer.from("\n"));
    await second.ended;
    const lines = Array.from({ length: 3000 }, (_, index) => `${index + 1}\r\n`).join("");
    expect(first.text().slice(0, known) + second.text()).toBe(`before\r\n${lines}after\r\n`);
    expect(second.pieces[0]?.offset).toBe(known);
  });

  test("the newest link counts, and the one before is told when the terminal ends", async () => {
    const execution = await startTerminal("newest", "stty -echo; echo ready; read x; echo got $x");
    const first = listen(execution, 0);
    await first.heard("ready");
    const second = listen(execution, 0);
    await second.heard("ready");
    await second.link.write(Buffer.from("it\n"));
    await Promise.all([first.ended, second.ended]);
    expect([first.text(), second.text()]).toEqual(Array(2).fill("ready\r\ngot it\r\n"));
  });

  test("a terminal whose link isn't read waits, and at its end all of it is there", async () => {
    const execution = await startTerminal("paused", "stty -echo; echo; read x; seq 1 60000; echo end");
    const { link, ended, text, pieces } = listen(execution, 0);
    // Somebody has to be connected, or nothing is held up.
    await until("it has begun", () => text() !== "" || undefined);
    link.pause();
    await link.write(Buffer.from("\n"));
    await until("the shim has stopped reading", async () => {
      const before = execution.changes.version;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return execution.changes.version === before || undefined;
    });
    expect(execution.exit).toBe(undefined);
    const held = pieces.length;
    link.resume();
    await ended;
    expect(pieces.length).toBeGreaterThan(held);
    expect(text().endsWith("60000\r\nend\r\n")).toBe(true);
    expect(text()).toHaveLength(2 + 408_894 + 5);
  });

  test("what a stranger says on a terminal's socket closes it, and the terminal goes on", async () => {
    const execution = await startTerminal("strange", "stty -echo; echo ready; read x; echo got $x");
    for (const bytes of [[9, 0, 0, 0, 0], [2, 255, 255, 255, 255], [3, 0, 0, 0, 9], [0]]) {
      const fd = openSync(execution.folder, "r");
      const socket = createConnection({ path: `/proc/self/fd/${fd}/terminal.sock` });
      socket.on("error", () => undefined);
      socket.once("connect", () => closeSync(fd));
      socket.end(Buffer.from(bytes));
      socket.resume();
      await new Promise((resolve) => socket.once("close", resolve));
    }
    const { link, ended, text, heard } = listen(execution, 0);
    await heard("ready");
    await link.write(Buffer.from("it\n"));
    await ended;
    expect(text()).toBe("ready\r\ngot it\r\n");
  });
});
