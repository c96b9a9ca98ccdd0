/** What is proved of each issue: name of the part → what runs it. Each resolves with `{ figures, findings }`. */
import { join } from "node:path";
import { benchBoxStore } from "../../bench/box-store.mjs";
import * as kit from "../../packages/testkit/src/proofs/door.ts";
import { durabilityParts } from "./durability-parts.mjs";
import { execDaemonParts } from "./exec-daemon-parts.mjs";
import { proveBenches } from "./prove-benches.mjs";
import { proveBoxStore } from "./prove-box-store.mjs";
import { proveContainer } from "./prove-container.mjs";
import { proveCorruption } from "./prove-corruption.mjs";
import { proveSlowClient } from "./prove-slow-client.mjs";

const report = (line) => console.log(`  ${line}`);

const killSweep = (size) => (run) =>
  kit.proveKillSweep({
    ...size,
    seed: run.seed,
    hitsPerFailpoint: 3,
    withControl: true,
    stateFile: join(run.scratch, "kill-sweep.jsonl"),
    keepFailedIn: join(run.scratch, "failed"),
    report,
  });

export const proofs = {
  2: {
    "kill sweep": killSweep({ randomKills: 150, daemonKills: 30 }),
    nonce: ({ bundles }) => kit.proveNonce({ bundles, posts: 200, kills: 50 }),
    stream: ({ bundles, seed }) => kit.proveStream({ bundles, seed, byteCuts: 300, frameStride: 1 }),
    secrets: ({ bundles }) => kit.proveSecrets({ bundles }),
    fuzz: ({ bundles, seed }) => kit.runFuzz({ bundles, seed, requests: 20_000, perTargetMin: 500 }),
  },
  3: {
    "kill sweep": killSweep({ randomKills: 320, daemonKills: 90 }),
    "container kills": ({ seed }) => proveContainer({ kills: 100, seed, withControl: true, report }),
    "slow client": () => proveSlowClient({ report }),
    fuzz: ({ bundles, seed }) => kit.runFuzz({ bundles, seed, requests: 200_000, perTargetMin: 500 }),
  },
  4: execDaemonParts(report),
  5: {
    ...durabilityParts(report),
    upgrades: ({ seed, scale, scratch }) =>
      kit.proveUpgrades({
        ...{ seed, upgrades: Math.max(10, Math.round(200 * scale)), deaths: kit.upgradeDeaths },
        ...{ withControls: true, stateFile: join(scratch, "upgrades.jsonl"), report },
      }),
    corruption: ({ seed, scale, scratch }) =>
      proveCorruption({
        ...{ seed, runs: Math.max(15, Math.round(1_000 * scale)), report },
        stateFile: join(scratch, "corruption.jsonl"),
      }),
    "box store in a directory": (run) => proveBoxStore("directory", { ...run, report }),
    "box store on S3": (run) => proveBoxStore("radosgw", { ...run, report }),
    "box store beside accepting": () => proveBenches([benchBoxStore], { rounds: 7, report }),
  },
};
