/**
 * How long a key takes to come back from a terminal in the box: through a client's socket, the daemon and whatever
 * keeps the terminal. Beside it a pseudoterminal with nothing around it, and one behind a bare socket.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { echoOnBarePty, keyAt, startBareRelay } from "./baseline/bare-pty.mjs";
import { startDaemon } from "./measure/host-process.mjs";
import { line, median } from "./measure/statistics.mjs";

const { WebSocket } = createRequire(new URL("../packages/exec-daemon/package.json", import.meta.url))("ws");

const headers = { authorization: "Bearer bench-daemon-token" };
const keysEach = 400;

async function open(url) {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  await new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("open", resolve);
  });
  return socket;
}

/** `wrap` makes a message of a key; `isOutput` tells output from what else a server says. */
async function echoOver(socket, wrap, isOutput) {
  let heard = () => undefined;
  socket.on("message", (_data, isBinary) => {
    if (isOutput(isBinary)) heard();
  });
  const took = [];
  for (let count = 0; count < keysEach; count += 1) {
    const startedMs = performance.now();
    await new Promise((resolve) => {
      heard = resolve;
      socket.send(wrap(keyAt(count)));
    });
    took.push(performance.now() - startedMs);
  }
  socket.terminate();
  return median(took);
}

async function echoThroughDaemon(keeper) {
  await using temp = await createTempFolder("bench-pty");
  await using _daemon = await startDaemon({ folder: temp.path, env: { SAND_KEEPER: keeper } });
  const { ptyPort } = JSON.parse(readFileSync(join(temp.path, "data/exec-daemon.json"), "utf8"));
  const base = `127.0.0.1:${ptyPort}/terminals`;
  const body = JSON.stringify({ argv: ["/bin/cat"] });
  const { terminal } = await (await fetch(`http://${base}`, { method: "POST", headers, body })).json();
  const socket = await open(`ws://${base}/${terminal.id}/attach?since=0`);
  const took = await echoOver(
    socket,
    (key) => Buffer.from(`\0${key}`),
    (isBinary) => isBinary,
  );
  await fetch(`http://${base}/${terminal.id}`, { method: "DELETE", headers });
  return took;
}

async function echoThroughRelay() {
  const relay = await startBareRelay();
  const took = await echoOver(
    await open(relay.url),
    (key) => key,
    () => true,
  );
  relay.stop();
  return took;
}

export async function benchPtyEcho({ rounds, report }) {
  const seen = { bare: [], relay: [], shim: [], node: [] };
  for (let round = 0; round < rounds; round += 1) {
    seen.bare.push(median(await echoOnBarePty(keysEach)));
    seen.relay.push(await echoThroughRelay());
    for (const keeper of ["shim", "node"]) seen[keeper].push(await echoThroughDaemon(keeper));
    const figures = Object.entries(seen).map(
      ([name, values]) => `${name} ${values.at(-1)?.toPrecision(3)} ms`,
    );
    report(`round ${round + 1}: ${figures.join(", ")}`);
  }
  const beside = (name, other) => seen[name].map((value, at) => value / seen[other][at]);
  const atMost = (bound) => ({ bound: `≤ ${bound}×`, met: (value) => value <= bound });
  return [
    line("a key's echo beside a bare terminal, shim", beside("shim", "bare"), atMost(1.5)),
    line("the same, node-pty", beside("node", "bare"), atMost(1.5)),
    line("beside a terminal behind a bare socket, shim", beside("shim", "relay"), atMost(1.5)),
    line("the same, node-pty", beside("node", "relay"), atMost(1.5)),
    ...Object.entries(seen).map(([name, values]) => line(`a key's echo: ${name}`, values, { unit: "ms" })),
  ];
}
