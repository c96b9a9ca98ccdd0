/**
 * One client opens an event stream and never reads, while 1 GB of events passes; another one reads everything. The
 * host's largest resident memory is compared with a run without the slow one. Three alternating pairs, each on a host
 * and a data root of its own.
 */
import { connect } from "node:net";
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { gatewayToken, readResidentMb, startHost } from "./measure/host-process.mjs";
import { runNode, startNode } from "./measure/run-process.mjs";
import { line, median } from "./measure/statistics.mjs";

const pairs = 3;
/** the host's settings are sent whole in each event, and hold a little more than this at most */
const settingBytes = 200_000;
const posts = Math.ceil(1_000_000_000 / settingBytes);
const sampleEveryMs = 50;
const headers = { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" };
const channel = "host-settings";

/** Asks for the stream and leaves the answer in the system's buffers. */
async function openDeafStream(url) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(
    `GET /events?channels=${channel} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${gatewayToken}\r\n\r\n`,
  );
  return { [Symbol.dispose]: () => socket.destroy() };
}

function watchMemory(pid) {
  let peakMb = 0;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, readResidentMb(pid));
  }, sampleEveryMs);
  return {
    peakMb: () => peakMb,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

async function passEvents(isWithDeaf) {
  await using temp = await createTempFolder("bench-slow");
  await using host = await startHost({ folder: temp.path });
  const wanted = { url: `${host.url}/events?channels=${channel}`, headers, streams: 1, frames: posts };
  await using reader = startNode(join(import.meta.dirname, "load/read-streams.mjs"), [], {
    input: JSON.stringify(wanted),
  });
  await reader.next();
  using _deaf = isWithDeaf ? await openDeafStream(host.url) : undefined;
  using memory = watchMemory(host.pid);
  const body = JSON.stringify({ mcpBoxServers: { mark: "{n}", text: "x".repeat(settingBytes) } });
  const plan = {
    url: `${host.url}/api/setHostSettings`,
    headers,
    body,
    connections: 2,
    posts,
    seconds: 0,
    mark: "slow",
  };
  const posting = runNode(join(import.meta.dirname, "load/post-load.mjs"), [], {
    input: JSON.stringify(plan),
    deadlineMs: 400_000,
  });
  // A refused change makes no event, and the reader would wait for it until its deadline.
  const { refused } = await posting;
  if (refused > 0) throw new Error(`${refused} changes were refused`);
  // The reader ends only when every frame has come, so an answer means that it lost none.
  const { bytes } = await reader.next();
  return { peakMb: memory.peakMb(), bytes };
}

export async function benchSlowClient({ report }) {
  const seen = { without: [], with: [] };
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const which of ["without", "with"]) {
      const { peakMb, bytes } = await passEvents(which === "with");
      seen[which].push({ peakMb, bytes });
      report(`pair ${pair + 1}, ${which}: ${Math.round(peakMb)} MB, ${Math.round(bytes / 1e6)} MB of events`);
    }
  }
  const peaks = (which) => seen[which].map(({ peakMb }) => peakMb);
  const more = median(peaks("with")) - median(peaks("without"));
  return [
    line("more resident memory at the peak, medians", [more], {
      unit: "MB",
      bound: "≤ 8 MB",
      met: (value) => value <= 8,
    }),
    line("peak without the slow client", peaks("without"), { unit: "MB" }),
    line("peak with it", peaks("with"), { unit: "MB" }),
  ];
}
