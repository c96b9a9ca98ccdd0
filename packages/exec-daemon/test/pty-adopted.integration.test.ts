/** Terminals that the next daemon takes up, after the one that opened them was killed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseExecDiscovery } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, token, until } from "./daemon-process.ts";
import { connect } from "./pty-world.ts";
import { hasShim } from "./shim-world.ts";

const patientMs = 120_000;

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

function address(): string {
  const text = readFileSync(join(daemon.dataRoot, "exec-daemon.json"), "utf8");
  return `127.0.0.1:${parseExecDiscovery(text)?.ptyPort ?? 0}/terminals`;
}

async function ask(path: string, body?: unknown): Promise<{ terminal: { offset: number } }> {
  const response = await fetch(`http://${address()}${path}`, {
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return (await response.json()) as { terminal: { offset: number } };
}

test.skipIf(!hasShim)(
  "one that has printed more than its spool keeps is seen as it is, and taken further",
  async () => {
    await ask("", { id: "long", argv: ["/bin/sh", "-c", "seq 1 1600000; echo END OF IT; exec cat"] });
    const printedBytes = 13_288_896 + "END OF IT\r\n".length;
    const isDone = async () => (await ask("/long")).terminal.offset >= printedBytes || undefined;
    await until("all is printed", isDone, patientMs);
    await daemon.kill();
    daemon = await daemon.again();
    await until("all is read again", isDone, patientMs);
    const client = await connect(`ws://${address()}/long/attach`);
    expect(await client.heard("snapshot")).toMatchObject({
      data: expect.stringContaining("END OF IT"),
      offset: (await ask("/long")).terminal.offset,
    });
    client.type("still here\n");
    await client.saw(/still here\r\nstill here/u, patientMs);
    await client.close();
  },
  patientMs * 3,
);
