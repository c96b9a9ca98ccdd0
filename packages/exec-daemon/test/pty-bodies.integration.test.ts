/** What comes of bodies at the terminals' port that don't come whole, with the daemon's own log. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { parseExecDiscovery } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, token } from "./daemon-process.ts";

const rounds = 20;

let daemon: TestDaemon;
let port: number;
beforeAll(async () => {
  daemon = await startTestDaemon();
  port = parseExecDiscovery(readFileSync(join(daemon.dataRoot, "exec-daemon.json"), "utf8"))?.ptyPort ?? 0;
});
afterAll(() => daemon.dispose());

test("a client that goes away in the middle of its body is nobody's failure", async () => {
  const head = `POST /terminals HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\ncontent-length: 100`;
  for (let round = 0; round < rounds; round += 1) {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.write(`${head}\r\n\r\n{"argv":`);
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  // By the time that these are answered it has seen the others go.
  for (let round = 0; round < rounds; round += 1) {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`http://127.0.0.1:${port}/terminals`, { headers });
    expect(await answer.json()).toEqual({ terminals: [] });
  }
  expect(daemon.log()).not.toContain("pty.failed");
}, 60_000);
