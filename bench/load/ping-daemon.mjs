/**
 * Pings the execution daemon one time after the other until its input ends, and prints how long the answers took: what
 * the daemon's event loop makes others wait while somebody else works it.
 */
import { Agent, request } from "node:http";

const [url = "", token = ""] = process.argv.slice(2);
const target = new URL("/exec.v1.Control/Ping", url);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
const pauseMs = 5;
const takenMs = [];
let isOver = false;
process.stdin.resume().once("end", () => {
  isOver = true;
});

function ping() {
  return new Promise((resolve, reject) => {
    const outgoing = request(target, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode));
    });
    outgoing.once("error", reject);
    outgoing.end("{}");
  });
}

if ((await ping()) !== 200) throw new Error("the daemon refuses the ping");
process.stdout.write('{"ready":true}\n');
while (!isOver) {
  const startedMs = performance.now();
  await ping();
  takenMs.push(performance.now() - startedMs);
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}
takenMs.sort((a, b) => a - b);
const at = (share) => takenMs[Math.min(takenMs.length - 1, Math.floor(takenMs.length * share))];
process.stdout.write(
  `${JSON.stringify({ count: takenMs.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: takenMs.at(-1) })}\n`,
);
agent.destroy();
