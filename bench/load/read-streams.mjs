/**
 * Opens many event streams and counts the frames of each. Prints `{"open":n}` when all are open, and a second line when
 * every stream has had `frames` of them: the time of the first and of the last one.
 */

import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";

const plan = JSON.parse(readFileSync(0, "utf8"));
const agent = new Agent({ keepAlive: false, maxSockets: plan.streams });
const mark = Buffer.from("data: ");
let open = 0;
let done = 0;
let bytes = 0;
let firstMs;

function countMarks(chunk) {
  let found = 0;
  for (let at = chunk.indexOf(mark); at !== -1; at = chunk.indexOf(mark, at + mark.length)) found += 1;
  return found;
}

function finish() {
  const tookMs = performance.now() - firstMs;
  process.stdout.write(`${JSON.stringify({ tookMs, bytes })}\n`, () => process.exit(0));
}

function readStream(response) {
  let frames = 0;
  let isOpen = false;
  // A mark may be cut in two by a chunk's end, so the last bytes are looked at again.
  let rest = Buffer.alloc(0);
  response.once("close", () => {
    if (frames >= plan.frames) return;
    process.stderr.write(`a stream ended after ${frames} of ${plan.frames} frames\n`);
    process.exit(1);
  });
  response.on("data", (chunk) => {
    if (!isOpen) {
      isOpen = true;
      open += 1;
      if (open === plan.streams) process.stdout.write(`${JSON.stringify({ open })}\n`);
    }
    const seen = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const found = countMarks(seen);
    rest = Buffer.from(seen.subarray(Math.max(0, seen.length - mark.length + 1)));
    if (found > 0) firstMs ??= performance.now();
    if (firstMs !== undefined) bytes += chunk.length;
    const before = frames;
    frames += found;
    if (before < plan.frames && frames >= plan.frames) {
      done += 1;
      if (done === plan.streams) finish();
    }
  });
}

/** A burst of a thousand connections would overrun the server's backlog; they come in order. */
for (let opened = 0; opened < plan.streams; opened += 1) {
  await new Promise((resolve, reject) => {
    const outgoing = get(plan.url, { agent, headers: plan.headers }, (response) => {
      readStream(response);
      resolve();
    });
    outgoing.once("error", reject);
  });
}
