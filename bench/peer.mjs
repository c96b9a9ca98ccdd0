/**
 * Beside a peer, against the same scripted model: from one model call to the next with a `true` in the shell between,
 * the start, and resident memory after 20 steps. Both are started anew for each round.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, modelEnv, readResidentMb, startDaemon, startHost } from "./measure/host-process.mjs";
import { installPeer, startPeer } from "./measure/peer-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { line } from "./measure/statistics.mjs";
import { callsOfTurn, medianGap, runTurn, stepScript, steps } from "./measure/step-script.mjs";

async function measureOurs(folder) {
  await using model = await startModel(folder, stepScript("Shell", { command: "true" }));
  await using daemon = await startDaemon({ folder });
  await using host = await startHost({ folder, env: modelEnv(model.baseUrl) });
  const agentId = await createAgent(host, "peer");
  const calls = await runTurn({ host, model, agentId, mark: "ours" });
  return {
    gapMs: medianGap(calls),
    readyMs: host.readyMs,
    rssMb: readResidentMb(host.pid) + readResidentMb(daemon.pid),
  };
}

async function measurePeer(folder, program) {
  await using model = await startModel(
    folder,
    stepScript("bash", { command: "true", description: "Do nothing" }),
  );
  await using peer = await startPeer({ program, folder, modelUrl: model.baseUrl });
  await peer.prompt("bench steps peer");
  const calls = callsOfTurn(model, "peer");
  if (calls.length !== steps) throw new Error(`the peer took ${calls.length} steps instead of ${steps}`);
  return { gapMs: medianGap(calls), readyMs: peer.readyMs, rssMb: readResidentMb(peer.pid) };
}

export async function benchPeer({ rounds, report }) {
  await using temp = await createTempFolder("bench-peer");
  const inFolder = (name) => {
    const path = join(temp.path, name);
    mkdirSync(path, { recursive: true });
    return path;
  };
  const program = installPeer(inFolder("install"));
  const seen = { ours: [], peer: [] };
  for (let round = 0; round < rounds; round += 1) {
    seen.ours.push(await measureOurs(inFolder(`ours-${round}`)));
    seen.peer.push(await measurePeer(inFolder(`peer-${round}`), program));
    const tell = ({ gapMs, readyMs, rssMb }) =>
      `${gapMs} ms, start ${Math.round(readyMs)} ms, ${Math.round(rssMb)} MB`;
    report(`round ${round + 1}: ${tell(seen.ours[round])} beside ${tell(seen.peer[round])}`);
  }
  const each = (who, what) => seen[who].map((one) => one[what]);
  const ratio = (what) => seen.ours.map((one, at) => one[what] / seen.peer[at][what]);
  const claims = [
    ["one model call to the next", "gapMs", "ms", 0.1],
    ["start", "readyMs", "ms", 0.1],
    ["resident after 20 steps (ours: host and daemon)", "rssMb", "MB", 0.25],
  ];
  return claims.flatMap(([name, what, unit, most]) => [
    line(`${name}, of the peer's`, ratio(what), { bound: `≤ ${most}×`, met: (value) => value <= most }),
    line(`${name}, ours`, each("ours", what), { unit }),
    line(`${name}, peer`, each("peer", what), { unit }),
  ]);
}
