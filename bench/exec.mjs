/**
 * What it costs to run a command through the daemon: run-and-exit beside a bare `child_process.spawn` of the same
 * program, and streamed output beside a bare pipe. Both are measured with the native shim and with Node keepers.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { takeOutput } from "./load/take-output.mjs";
import { readCpuMs, readResidentMb, startDaemon } from "./measure/host-process.mjs";
import { runNode } from "./measure/run-process.mjs";
import { line, median } from "./measure/statistics.mjs";

const fromDaemon = createRequire(new URL("../packages/exec-daemon/package.json", import.meta.url));
const { createClient } = await import(fromDaemon.resolve("@connectrpc/connect"));
const { createConnectTransport } = await import(fromDaemon.resolve("@connectrpc/connect-node"));
const { Processes } = await import("../packages/protocol/src/exec.ts");

const token = "bench-daemon-token";
const runsEach = 60;
const streamedBytes = 256 * 1024 * 1024;
/** as small as a program can be, and one that does a little */
const programs = { true: ["/bin/true"], node: [process.execPath, "-e", "0"] };

async function openDaemon(folder, keeper) {
  const daemon = await startDaemon({ folder, env: { SAND_KEEPER: keeper } });
  const { rpcPort } = JSON.parse(readFileSync(join(folder, "data/exec-daemon.json"), "utf8"));
  const transport = createConnectTransport({
    baseUrl: `http://127.0.0.1:${rpcPort}`,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  return {
    ...daemon,
    processes: createClient(Processes, transport),
    folder,
    url: `http://127.0.0.1:${rpcPort}`,
  };
}

let count = 0;
async function runOverRpc({ processes }, args) {
  const startedMs = performance.now();
  count += 1;
  const processId = `run-${count}`;
  const command = { case: "argv", value: { args } };
  // As the host does it: a short run is told with the answer to its start.
  const { execution: begun } = await processes.start({ processId, command, settleMs: 2_000 });
  const execution = begun.closed ? begun : (await processes.wait({ processId, waitMs: 60_000 })).execution;
  if (execution.exited?.code !== 0) throw new Error(`the program ended with ${execution.exited?.code}`);
  return performance.now() - startedMs;
}

/** The same runs without the daemon, in a process of their own. */
async function runBare(times, args) {
  const file = join(import.meta.dirname, "baseline/run-program.mjs");
  return await runNode(file, [String(times), ...args]);
}

const floodText = `head -c ${streamedBytes} /dev/zero`;

async function streamOverRpc({ processes }, keeper) {
  count += 1;
  const processId = `flood-${count}`;
  const startedMs = performance.now();
  await processes.start({ processId, command: { case: "shell", value: floodText } });
  let bytes = 0;
  let lost = 0;
  for await (const { event } of processes.attach({ processId, lossless: keeper === "shim" })) {
    if (event?.kind.case === "output") bytes += event.kind.value.data.length;
    if (event?.kind.case === "gap") lost += Number(event.kind.value.to - event.kind.value.from);
  }
  if (bytes + lost !== streamedBytes) throw new Error(`${bytes} bytes came and ${lost} are said to be lost`);
  const seconds = (performance.now() - startedMs) / 1000;
  return { taken: streamedBytes / 1e6 / seconds, delivered: bytes / 1e6 / seconds };
}

/** Every byte, by a reader that only counts. The command begins when it has surely attached. */
async function streamOffWire({ processes, url }) {
  count += 1;
  const processId = `wire-${count}`;
  await processes.start({ processId, command: { case: "shell", value: `sleep 0.3; ${floodText}` } });
  const { bytes, ms } = await takeOutput({ url, token, processId });
  if (bytes < streamedBytes) throw new Error(`${bytes} bytes came off the wire`);
  return streamedBytes / 1e3 / ms;
}

/** What is between no daemon and ours at least: the intent on the disk, and a socket. */
async function measureFloors(folder, seen) {
  const intents = await runNode(join(import.meta.dirname, "baseline/intent-loop.mjs"), [folder, runsEach]);
  seen["intent bare"].push(median(intents));
  seen["http bare"].push(
    await runNode(join(import.meta.dirname, "baseline/http-stream.mjs"), [streamedBytes]),
  );
}

async function streamBare() {
  const [run] = await runBare(1, ["/bin/sh", "-c", floodText]);
  if (run.bytes !== streamedBytes) throw new Error(`${run.bytes} bytes came through the bare pipe`);
  return run.bytes / 1e3 / run.ms;
}

async function medianOf(times, run) {
  const seen = [];
  for (let at = 0; at < times; at += 1) seen.push(await run());
  return median(seen);
}

/** Resident memory of the processes that keep ten commands which do nothing, in MB for each. */
async function measureKeepers(daemon) {
  const ids = Array.from({ length: 10 }, (_, at) => `idle-${at}`);
  for (const processId of ids)
    await daemon.processes.start({ processId, command: { case: "shell", value: "exec sleep 600" } });
  const root = join(daemon.folder, "data/executions");
  const claims = ids.map((id) => JSON.parse(readFileSync(join(root, id, "claim.json"), "utf8")));
  const megabytes = median(claims.map(({ pid }) => readResidentMb(pid)));
  for (const processId of ids) await daemon.processes.signal({ processId, name: "SIGKILL", scope: 2 });
  for (const processId of ids) await daemon.processes.wait({ processId, waitMs: 60_000 });
  return megabytes;
}

/** Keepers that wait outlive the daemon by a moment: the folder is removed when they are gone. */
async function measureRound(keeper, seen) {
  await using temp = await createTempFolder("bench-exec");
  await using daemon = await openDaemon(temp.path, keeper);
  for (let at = 0; at < 10; at += 1) await runOverRpc(daemon, programs.true);
  for (const [name, args] of Object.entries(programs)) {
    const times = name === "true" ? runsEach : runsEach / 3;
    seen[`${name} bare`].push(median((await runBare(times, args)).map(({ ms }) => ms)));
    const cpuBefore = readCpuMs(daemon.pid);
    seen[`${name} ${keeper}`].push(await medianOf(times, () => runOverRpc(daemon, args)));
    if (name === "true") seen[`cpu ${keeper}`].push((readCpuMs(daemon.pid) - cpuBefore) / times);
  }
  if (keeper === "shim") {
    await measureFloors(temp.path, seen);
    seen["wire shim"].push(await streamOffWire(daemon));
  }
  seen["stream bare"].push(await streamBare());
  const floodBefore = readCpuMs(daemon.pid);
  const { taken, delivered } = await streamOverRpc(daemon, keeper);
  seen[`flood-cpu ${keeper}`].push(readCpuMs(daemon.pid) - floodBefore);
  seen[`stream ${keeper}`].push(taken);
  seen[`delivered ${keeper}`].push(delivered);
  seen[`resident ${keeper}`].push(await measureKeepers(daemon));
}

export async function benchExec({ rounds, report }) {
  const names = ["true", "node", "stream"].flatMap((name) => [
    `${name} bare`,
    `${name} shim`,
    `${name} node`,
  ]);
  const kinds = ["resident", "cpu", "flood-cpu", "delivered"];
  const more = ["shim", "node"].flatMap((keeper) => kinds.map((kind) => `${kind} ${keeper}`));
  more.push("intent bare", "http bare", "wire shim");
  const seen = Object.fromEntries([...names, ...more].map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const keeper of ["shim", "node"]) await measureRound(keeper, seen);
    report(
      `round ${round + 1}: ${Object.entries(seen)
        .map(([name, values]) => `${name} ${values.at(-1)?.toPrecision(3)}`)
        .join(", ")}`,
    );
  }
  return describeFigures(seen);
}

function describeFigures(seen) {
  // The bare runs are made beside each kind of keeper: two for each round.
  const bare = (name, at) => seen[`${name} bare`].filter((_, index) => index % 2 === at);
  const ratio = (name, keeper) =>
    seen[`${name} ${keeper}`].map((value, at) => value / bare(name, keeper === "shim" ? 0 : 1)[at]);
  const atMost = (bound) => ({ bound: `≤ ${bound}×`, met: (value) => value <= bound });
  return [
    line("run and exit of `node -e 0` beside a bare spawn, shim", ratio("node", "shim"), atMost(1.3)),
    line("the same, Node keepers", ratio("node", "node"), {}),
    line("run and exit of `true` beside a bare spawn, shim", ratio("true", "shim"), atMost(1.3)),
    line("the same, Node keepers", ratio("true", "node"), {}),
    line(
      "run and exit of `true` beside a bare spawn and a durable intent, shim",
      seen["true shim"].map((value, at) => value / (bare("true", 0)[at] + seen["intent bare"][at])),
      {},
    ),
    line("output taken beside a bare pipe, shim", ratio("stream", "shim"), {
      bound: "≥ 0.7×",
      met: (value) => value >= 0.7,
    }),
    line("the same, Node keepers", ratio("stream", "node"), {}),
    line(
      "every byte off the wire beside plain HTTP between two processes, shim",
      seen["wire shim"].map((value, at) => value / seen["http bare"][at]),
      {},
    ),
    line("a durable intent alone", seen["intent bare"], { unit: "ms" }),
    ...["true bare", "true shim", "true node"].map((name) =>
      line(`run and exit: ${name}`, seen[name], { unit: "ms" }),
    ),
    ...[
      "stream bare",
      "http bare",
      "wire shim",
      "stream shim",
      "delivered shim",
      "stream node",
      "delivered node",
    ].map((name) => line(`256 MiB of output: ${name}`, seen[name], { unit: "MB/s" })),
    ...["shim", "node"].flatMap((keeper) => [
      line(`daemon's processor time for one run, ${keeper}`, seen[`cpu ${keeper}`], { unit: "ms" }),
      line(`daemon's processor time for 256 MiB, ${keeper}`, seen[`flood-cpu ${keeper}`], { unit: "ms" }),
      line(`resident memory of what keeps one command, ${keeper}`, seen[`resident ${keeper}`], {
        unit: "MB",
      }),
    ]),
  ];
}
