/** A command that writes without end, and a reader in another process that keeps up with it, must not starve others. */
import { type ChildProcess, spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { shell, startTestDaemon, type TestDaemon, token, until } from "./daemon-process.ts";

let daemon: TestDaemon;
let reader: ChildProcess | undefined;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(async () => {
  reader?.kill("SIGKILL");
  await daemon.dispose();
});

/** Attaches by hand and throws everything away; says so once, when the first bytes came. */
const readerText = `
const [url, authorization, id] = process.argv.slice(1);
const body = Buffer.from(JSON.stringify({ processId: id }));
const frame = Buffer.alloc(5 + body.length);
frame.writeUInt32BE(body.length, 1);
body.copy(frame, 5);
const headers = { authorization, "content-type": "application/connect+json" };
const request = require("node:http").request(url, { method: "POST", headers }, (response) => {
  response.once("data", () => console.log("reading"));
  response.resume();
});
request.end(frame);
`;

test("others are answered while a command floods and its reader keeps up", async () => {
  await daemon.processes.start(shell("flood", "yes | head -c 20000000000"));
  const url = `${daemon.baseUrl}/exec.v1.Processes/Attach`;
  const child = spawn(process.execPath, ["-e", readerText, url, `Bearer ${token}`, "flood"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  reader = child;
  let said = "";
  child.stdout.on("data", (piece: Buffer) => {
    said += piece.toString();
  });
  await until("the reader reads", () => (said === "" ? undefined : true));
  const delaysMs: number[] = [];
  for (let count = 0; count < 30; count += 1) {
    const atMs = performance.now();
    await daemon.control.ping({ nonce: `n-${count}` });
    delaysMs.push(performance.now() - atMs);
  }
  expect(child.exitCode).toBe(null);
  expect(Math.max(...delaysMs)).toBeLessThan(3000);
});
