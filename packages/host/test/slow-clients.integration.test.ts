/** Clients of the event stream that stand still, vanish or are slow, and a proxy in between. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { CommittedEvent } from "@sand/protocol";
import { createTempFolder, findFreePort } from "@sand/testkit";
import { expect, test } from "vitest";
import { createGatewayWorld, dial, token } from "./gateway-world.ts";
import { idOf, openSse } from "./sse-reader.ts";

function event(seq: number, text: string): CommittedEvent {
  return { seq, channel: "transcript", payload: { type: "appended", agentId: "a", entry: { text } } };
}

const isData = (frame: string) => frame.includes("data: ");
const mebibyte = 1024 * 1024;

async function openDeaf(port: number, path: string) {
  const socket = await dial(port);
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

test("a gigabyte past clients that never read costs the host next to nothing", async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", join(import.meta.dirname, "measure-deaf-clients.ts")],
    // What is freed goes back to the system at once, so that resident memory is memory that is held.
    { env: { ...process.env, MALLOC_ARENA_MAX: "1", MALLOC_MMAP_THRESHOLD_: "65536" }, timeout: 170_000 },
  );
  const { alone, withDeaf, cut, deafClients } = JSON.parse(stdout);
  expect(cut).toBe(deafClients);
  expect(withDeaf - alone).toBeLessThan(16 * mebibyte);
}, 180_000);

test("a burst larger than its queue costs a client that reads nothing", async () => {
  await using world = await createGatewayWorld({ ringMaxEvents: 64 });
  const strict = await openSse(world.gateway.port, "/events");
  const resuming = await openSse(world.gateway.port, "/events?since=0", { "accept-encoding": "gzip" });
  const streams = [strict, resuming];
  for (const stream of streams) await stream.until((frames) => frames.length >= 1);
  // One tick, so that nobody can read in between: 3.5 MB, and each queue holds less than 1.
  for (let seq = 1; seq <= 7; seq += 1) world.publish(event(seq, "b".repeat(500_000)));
  world.publish(event(8, "small"));
  for (const stream of streams) {
    const frames = (await stream.until((seen) => seen.filter(isData).length >= 8)).filter(isData);
    expect(frames).toHaveLength(8);
    expect(frames.map((frame) => frame.length > 400_000)).toEqual([...Array(7).fill(true), false]);
  }
  world.publish(event(9, "live again"));
  for (const stream of streams) {
    await stream.until((seen) => seen.filter(isData).length === 9);
    stream.close();
  }
  expect(world.logLines.join("")).not.toContain("stream.cut");
});

test("a client that vanishes while it is behind holds nothing up, not even the end of the gateway", async () => {
  await using world = await createGatewayWorld();
  for (let seq = 1; seq <= 200; seq += 1) world.publish(event(seq, "y".repeat(100_000)));
  const behind = await Promise.all([1, 2, 3].map(() => openDeaf(world.gateway.port, "/events?since=0")));
  const reader = await openSse(world.gateway.port, "/events?since=199");
  await reader.until((frames) => frames.some(isData));
  for (const socket of behind) socket.destroy();
  world.publish(event(201, "last"));
  await reader.until((frames) => frames.some((frame) => idOf(frame) === 201));
  reader.close();
  const beganMs = performance.now();
  await world.gateway.close();
  expect(performance.now() - beganMs).toBeLessThan(3_000);
  expect(world.logLines.join("")).not.toContain("stream.failed");
});

test("a live client that is slow now and then gets each frame once and in order", async () => {
  await using world = await createGatewayWorld();
  const stream = await openSse(world.gateway.port, "/events?since=0");
  await stream.until((frames) => frames.length === 1);
  const text = "z".repeat(60_000);
  for (let seq = 1; seq <= 200; seq += 1) {
    if (seq % 10 === 1) stream.response.pause();
    world.publish(event(seq, text));
    if (seq % 10 !== 0) continue;
    stream.response.resume();
    await stream.until((frames) => frames.filter(isData).length === seq);
  }
  expect(stream.frames.filter(isData).map(idOf)).toEqual(
    Array.from({ length: 200 }, (_, index) => index + 1),
  );
  stream.close();
});

const hasNginx = spawnSync("nginx", ["-v"]).error === undefined;

/** A stock nginx before the gateway, with its patience shortened so that a test can outlast it. */
async function startNginx(gatewayPort: number) {
  const folder = await createTempFolder("nginx");
  const port = await findFreePort();
  mkdirSync(join(folder.path, "logs"));
  const temps = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder.path, name)};`,
  );
  const config = `daemon off; worker_processes 1; error_log stderr; pid ${join(folder.path, "pid")};
    events {}
    http { access_log off; ${temps.join(" ")}
      server { listen 127.0.0.1:${port};
        location / { proxy_pass http://127.0.0.1:${gatewayPort}; proxy_http_version 1.1; proxy_read_timeout 1s; } } }`;
  writeFileSync(join(folder.path, "nginx.conf"), config);
  const child: ChildProcess = spawn("nginx", ["-p", folder.path, "-c", "nginx.conf"], { stdio: "ignore" });
  await expect
    .poll(() =>
      dial(port).then(
        (socket) => socket.destroy().destroyed,
        () => false,
      ),
    )
    .toBe(true);
  return {
    port,
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      await folder.remove();
    },
  };
}

test.skipIf(!hasNginx)(
  "through nginx as it comes events arrive at once, compressed too, and a silent stream stays open",
  async () => {
    await using world = await createGatewayWorld({ limits: { pingMs: 300 } });
    await using nginx = await startNginx(world.gateway.port);
    let seq = 0;
    for (const headers of [{}, { "accept-encoding": "gzip" }]) {
      const stream = await openSse(nginx.port, "/events?since=0", headers);
      expect(stream.response.headers["content-type"]).toBe("text/event-stream");
      await stream.until((frames) => frames.length >= 1);
      for (let count = 0; count < 5; count += 1) {
        seq += 1;
        const sentAtMs = performance.now();
        world.publish(event(seq, "small"));
        await stream.until((frames) => frames.some((frame) => idOf(frame) === seq));
        expect(performance.now() - sentAtMs).toBeLessThan(100);
      }
      // Three times as long as nginx waits for a silent server.
      const pings = () => stream.frames.filter((frame) => frame === ":ping").length;
      const from = pings();
      await stream.until(() => pings() >= from + 10, 10_000);
      seq += 1;
      world.publish(event(seq, "still there"));
      await stream.until((frames) => frames.some((frame) => idOf(frame) === seq));
      stream.close();
    }
  },
  40_000,
);
