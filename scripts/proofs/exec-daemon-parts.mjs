/** What is proved of issue 4, the exec-daemon: a part for each of its "must show" lines. */
import { benchDaemon } from "../../bench/daemon.mjs";
import { benchExec } from "../../bench/exec.mjs";
import { benchFiles } from "../../bench/files.mjs";
import { benchPtyEcho } from "../../bench/pty-echo.mjs";
import { benchSandbox } from "../../bench/sandbox.mjs";
import * as kit from "../../packages/testkit/src/proofs/door.ts";
import { proveBenches } from "./prove-benches.mjs";
import { runVitest } from "./run-vitest.mjs";

const sized = (count, scale) => Math.max(1, Math.round(count * scale));
const rounds = 5;
const e2bCasesMin = 120;

const terminalFiles = ["pty-backend.contract", "pty-screens.integration", "pty.integration"];
const processFiles = ["phantom-files.crash", "survival.crash", "shim.integration"];
const daemonTests = (names) => names.map((name) => `packages/exec-daemon/test/${name}.test.ts`);

export const execDaemonParts = (report) => ({
  e2b: () => runVitest({ files: ["packages/e2b-surface/test"], casesMin: e2bCasesMin }),
  terminals: () => runVitest({ files: daemonTests(terminalFiles), env: { SAND_TEST_REQUIRE: "terminals" } }),
  // Each run is followed by its control with the sandbox off, which fails if nothing succeeds there.
  attacks: () =>
    runVitest({
      files: ["test/attacks.bundle.test.ts", "test/attacks.docker.test.ts"],
      env: { SAND_TEST_REQUIRE: "bwrap,docker", SAND_ATTACKS: "full" },
    }),
  "killed midway": () => runVitest({ files: daemonTests(processFiles) }),
  "parallel exits": ({ bundles, scale }) => kit.proveParallelExits({ bundles, runs: sized(500, scale) }),
  chaos: ({ bundles, seed, scale }) =>
    kit.proveChaos({ bundles, seed, seconds: sized(20 * 60, scale), withControl: true }),
  fuzz: ({ bundles, seed, scale }) =>
    kit.runFuzz({
      ...{ bundles, seed, requests: sized(200_000, scale), perTargetMin: sized(1_000, scale) },
      servers: ["daemon", "terminals", "e2b"],
    }),
  budgets: () => proveBenches([benchDaemon, benchFiles], { rounds, report }),
  "bench exec": () => proveBenches([benchExec, benchPtyEcho, benchSandbox], { rounds, report }),
});
