/**
 * A pseudoterminal with nothing around it, and the same behind a bare WebSocket in a process of its own: one key at a
 * time into `cat`, and how long its echo takes.
 */
import { spawn as start } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const from = createRequire(new URL("../../packages/exec-daemon/package.json", import.meta.url));

const openCat = () =>
  from("node-pty").spawn("/bin/cat", [], { name: "xterm", cols: 80, rows: 24, cwd: "/", env: {} });

/** A key, and now and then the one that empties the line, which a terminal bounds. */
export const keyAt = (count) => (count % 60 === 59 ? "\u0015" : "x");

/** The milliseconds of each key. @param {number} keys */
export async function echoOnBarePty(keys) {
  const terminal = openCat();
  let heard = () => undefined;
  terminal.onData(() => heard());
  const took = [];
  for (let count = 0; count < keys; count += 1) {
    const startedMs = performance.now();
    await new Promise((resolve) => {
      heard = resolve;
      terminal.write(keyAt(count));
    });
    took.push(performance.now() - startedMs);
  }
  terminal.kill("SIGKILL");
  return took;
}

/** Starts the relay; its `url` leads to a new terminal. */
export async function startBareRelay() {
  const child = start(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise((resolve) =>
    child.stdout.once("data", (text) => resolve(String(text).trim())),
  );
  return { url, stop: () => child.kill("SIGKILL") };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = new (from("ws").WebSocketServer)({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  server.on("connection", (socket) => {
    const terminal = openCat();
    terminal.onData((text) => socket.send(Buffer.from(text)));
    socket.on("message", (data) => terminal.write(data.toString()));
    socket.on("close", () => terminal.kill("SIGKILL"));
  });
  server.once("listening", () => process.stdout.write(`ws://127.0.0.1:${server.address().port}\n`));
}
