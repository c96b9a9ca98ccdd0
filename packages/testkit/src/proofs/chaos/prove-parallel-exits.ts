/** Many short runs at once, each with an exit code of its own: all codes are right, and nothing is left behind. */
import type { SandBundles } from "../../processes/sand-bundles.ts";
import { createWorld } from "../../processes/sand-world.ts";
import { waitUntil } from "../../wait-until.ts";
import { collectFindings, type ProofResult } from "../proof-result.ts";
import { createChaosDaemons, findControlGroups } from "./chaos-daemons.ts";
import { createChaosLedger } from "./chaos-ledger.ts";
import { createDaemonClient } from "./daemon-client.ts";

export interface ParallelExitsOptions {
  readonly bundles: SandBundles;
  readonly runs: number;
}

const codes = 256;
const settleMaxMs = 60_000;

/** More than may run at the same time: who is refused asks again, under the same id. */
export async function proveParallelExits({ bundles, runs }: ParallelExitsOptions): Promise<ProofResult> {
  await using world = await createWorld({ label: "exits", bundles, sandbox: "off" });
  const daemons = createChaosDaemons(world);
  const findings = collectFindings();
  const client = createDaemonClient(() => daemons.access());
  const ledger = createChaosLedger({ client, findings, kills: () => 0 });
  await daemons.start();
  const startMs = Date.now();
  await Promise.all(
    Array.from({ length: runs }, async (_, at) => {
      const code = at % codes;
      await client.insist("Processes/Start", { processId: `exit-${at}`, shell: `exit ${code}` });
      await ledger.settle(`exit-${at}`, { code });
    }),
  );
  const tookMs = Date.now() - startMs;
  const isAtRest = (): boolean => daemons.countZombies() === 0;
  await waitUntil("no zombie", isAtRest, { deadlineMs: settleMaxMs, everyMs: 200 }).catch(() => undefined);
  const zombies = daemons.countZombies();
  findings.expect(zombies === 0, `${zombies} zombies`);
  await daemons.stop();
  const isEmpty = (): boolean => world.leftProcesses().length === 0;
  await waitUntil("nothing is left", isEmpty, { deadlineMs: settleMaxMs, everyMs: 200 }).catch(
    () => undefined,
  );
  for (const left of world.leftProcesses()) findings.expect(false, `left behind: ${left.command}`);
  const groups = findControlGroups(world.dataRoot).length;
  findings.expect(groups === 0, `${groups} control groups are left`);
  const wrong = ledger.counts["wrong outcomes"] ?? 0;
  return {
    figures: { runs, rightCodes: ledger.counts["known outcomes"] ?? 0, wrong, zombies, tookMs },
    findings: findings.list,
  };
}
