/**
 * The daemon's budgets for files: while 1 GiB is sent, a folder of 105,000 entries listed, and a tree of 100,000 files
 * watched, another client's Ping is answered, and the memory of the daemon and its file process stays bounded.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBoxFiles } from "../packages/cli/src/files/box-files.ts";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { readResidentMb, startDaemon } from "./measure/host-process.mjs";
import { line } from "./measure/statistics.mjs";
import { whilePinging } from "./measure/while-pinging.mjs";

const token = "bench-daemon-token";
const uploadBytes = 1024 ** 3;
const pieceBytes = 1024 ** 2;
const listedEntries = 105_000;
const watchedFiles = 100_000;
const watchedFolders = 1000;
const pingMaxMs = 100;
const growthMaxMb = 64;
const sampleEveryMs = 20;

function fileProcessOf(daemonPid) {
  const pid = readdirSync("/proc").find((name) => {
    try {
      const isRole = readFileSync(`/proc/${name}/cmdline`, "latin1").endsWith("\0files\0");
      return isRole && readFileSync(`/proc/${name}/status`, "latin1").includes(`PPid:\t${daemonPid}\n`);
    } catch {
      return false;
    }
  });
  if (pid === undefined) throw new Error("the daemon has no file process");
  return Number(pid);
}

/** the largest growth of both processes together while `work` goes on */
async function watchingMemory(pids, work) {
  const sum = () => pids.reduce((total, pid) => total + readResidentMb(pid), 0);
  const before = sum();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, sum());
  }, sampleEveryMs);
  try {
    return { ...(await work()), grownMb: peak - before };
  } finally {
    clearInterval(timer);
  }
}

async function upload(client, name, bytes) {
  const data = new Uint8Array(pieceBytes).fill(120);
  const target = { path: name, uploadId: `bench-${name}` };
  for (let offset = 0; offset < bytes; offset += pieceBytes)
    await client.uploadPiece({ ...target, offset: BigInt(offset), data });
  await client.uploadCommit({ ...target, sizeBytes: BigInt(bytes) });
}

async function list(client) {
  let entries = 0;
  for await (const page of client.listStream({ path: "wide" })) entries += page.entries.length;
  if (entries !== listedEntries) throw new Error(`${entries} entries were listed`);
}

async function watch(client, workspace) {
  const ending = new AbortController();
  for await (const { event } of client.watch({ path: "deep", recursive: true }, { signal: ending.signal })) {
    if (event.case === "started") {
      if (event.value.entries !== watchedFiles + watchedFolders) throw new Error("not all is watched");
      writeFileSync(join(workspace, "deep", "500", "new"), "");
    }
    if (event.case === "change" && event.value.name === "500/new") break;
  }
  ending.abort();
}

function fill(workspace) {
  mkdirSync(join(workspace, "wide"));
  for (let index = 0; index < listedEntries; index += 1)
    writeFileSync(join(workspace, "wide", `${index}`), "");
  for (let folder = 0; folder < watchedFolders; folder += 1) {
    mkdirSync(join(workspace, "deep", `${folder}`), { recursive: true });
    for (let index = 0; index < watchedFiles / watchedFolders; index += 1)
      writeFileSync(join(workspace, "deep", `${folder}`, `${index}`), "");
  }
}

export async function benchFiles({ rounds, report }) {
  await using temp = await createTempFolder("bench-files");
  await using daemon = await startDaemon({ folder: temp.path });
  const workspace = join(temp.path, "workspace");
  const { rpcPort } = JSON.parse(readFileSync(join(temp.path, "data", "exec-daemon.json"), "utf8"));
  const box = createBoxFiles({
    locate: () => ({ rpcPort, token }),
    onOutage: () => {},
    signal: new AbortController().signal,
  });
  const client = await box.client();
  const url = `http://127.0.0.1:${rpcPort}`;
  fill(workspace);
  // Both processes have done everything once before anything is measured.
  await upload(client, "warm-up", 32 * pieceBytes);
  const pids = [daemon.pid, fileProcessOf(daemon.pid)];
  const works = {
    "1 GiB upload": async () => {
      await upload(client, "large", uploadBytes);
      rmSync(join(workspace, "large"));
    },
    "105,000 entries listed": () => list(client),
    "100,000 files watched": async () => {
      await watch(client, workspace);
      rmSync(join(workspace, "deep", "500", "new"));
    },
  };
  const seen = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, work] of Object.entries(works)) {
      const one = await watchingMemory(pids, () => whilePinging({ url, token }, work));
      seen[name].push(one);
      const { ping, tookMs, grownMb } = one;
      report(
        `round ${round + 1}, ${name}: ${Math.round(tookMs)} ms, ${Math.round(grownMb)} MB more, ` +
          `Ping p50 ${ping.p50.toFixed(1)} p95 ${ping.p95.toFixed(1)} max ${ping.max.toFixed(0)} ms of ${ping.count}`,
      );
    }
  }
  return Object.entries(seen).flatMap(([name, all]) => {
    const pings = all.map(({ ping }) => ping.p95);
    const growth = all.map(({ grownMb }) => grownMb);
    const bounded = { bound: `≤ ${growthMaxMb} MB`, met: (value) => value <= growthMaxMb };
    return [
      line(`${name}: Ping p95`, pings, {
        unit: "ms",
        bound: `≤ ${pingMaxMs} ms`,
        met: (value) => value <= pingMaxMs,
      }),
      line(`${name}: memory at the peak over before`, growth, {
        unit: "MB",
        ...(name === "1 GiB upload" ? bounded : {}),
      }),
      line(
        `${name}: time`,
        all.map(({ tookMs }) => tookMs),
        { unit: "ms" },
      ),
    ];
  });
}
