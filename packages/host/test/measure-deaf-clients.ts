/**
 * A program of its own: how much memory a gateway takes while a gigabyte passes, first alone and then past clients
 * that never read. Prints one line of JSON, sizes in bytes. `slow-clients.integration.test.ts` starts it with an
 * allocator that gives freed memory back at once, so that what is resident is what is held.
 */
import type { CommittedEvent } from "@sand/protocol";
import { createGatewayWorld, dial, token } from "./gateway-world.ts";

const mebibyte = 1024 * 1024;
const deafClients = 3;
/** What a run measures is the least of so many looks, since dead buffers are given back a little after a collection. */
const looks = 20;

// The text is one string in memory, whatever number of events carry it.
const text = "x".repeat(200_000);

async function openDeaf(port: number) {
  const socket = await dial(port);
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(`GET /events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

await using world = await createGatewayWorld();
let seq = 0;

async function residentAfter(bytes: number): Promise<number> {
  for (let sent = 0; sent < bytes; sent += text.length) {
    seq += 1;
    const payload = { type: "appended", agentId: "a", entry: { text } };
    const event: CommittedEvent = { seq, channel: "transcript", payload };
    world.hub.publish([event]);
    if (seq % 50 === 0) await new Promise(setImmediate);
  }
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < looks; look += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 10));
    least = Math.min(least, process.memoryUsage().rss);
  }
  return least;
}

await residentAfter(256 * mebibyte);
const alone = await residentAfter(1_024 * mebibyte);
const deaf = await Promise.all(Array.from({ length: deafClients }, () => openDeaf(world.gateway.port)));
const withDeaf = await residentAfter(1_024 * mebibyte);
const cut = world.logLines.filter((line) => line.includes('"too-slow"')).length;
for (const socket of deaf) socket.destroy();
process.stdout.write(`${JSON.stringify({ alone, withDeaf, cut, deafClients })}\n`);
