/**
 * Start: at most one process for an execution id, whatever is repeated, whenever we die.
 *
 * The intent is on disk before a keeper claims it, and the keeper claims it before it spawns. So a repeat after a crash
 * finds: nothing (start it), an unclaimed intent (nothing ran: start it), a claimed one (it is, or was, running).
 */
import { resolve } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createKeyedMutex, failpoint } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import type { StartRequest, StartResponseSchema } from "@sand/protocol/exec";
import type { BoxPolicy } from "../box-policy.ts";
import { encloserOf } from "../enclosure/encloser.ts";
import type { KeeperPool, KeeperReport } from "../keeper/keeper-pool.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LaunchPlan, StartRecord } from "../ledger/records.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { limits } from "../limits.ts";
import { addSecrets } from "./add-secrets.ts";
import { computeDigest, validateStart } from "./parse-start.ts";
import { planLaunch } from "./plan-launch.ts";
import { toExecution } from "./to-execution.ts";

export interface StartDeps {
  readonly ledger: Ledger;
  readonly keepers: KeeperPool;
  readonly policy: BoxPolicy;
  readonly clock: Clock;
  readonly ledgerEnabled: boolean;
  /** what a command of this agent gets as secrets */
  readonly secretsFor: (agentId: string) => Readonly<Record<string, string>>;
  /** Runs what outlives the call. */
  readonly run: (name: string, work: () => Promise<void>) => void;
  /** Hears of each execution that came to run. */
  readonly onStarted: (execution: TrackedExecution) => void;
}

/** What a caller inside the daemon adds to the plan of a request. */
export interface StartExtras {
  /** descriptors behind those of the plan itself */
  readonly openFiles: readonly string[];
  readonly saveFile?: string;
  /** what people read of it when it runs in the background */
  readonly shown: NonNullable<StartRecord["shown"]>;
}

export type Start = (
  request: StartRequest,
  extras?: StartExtras,
) => Promise<MessageInitShape<typeof StartResponseSchema>>;

const asKept = { executor: "shell", opener: "keeper" } as const;

/** a keeper may die before it claims; the next one gets the same intent */
const launchAttemptsMax = 3;

export function createStart(deps: StartDeps): Start {
  const oneByOne = createKeyedMutex();
  let launching = 0;

  async function startOnce(
    request: StartRequest,
    extras: StartExtras | undefined,
  ): Promise<{ existing: boolean; execution: TrackedExecution }> {
    const digest = computeDigest(request);
    const known = deps.ledgerEnabled ? deps.ledger.find(request.processId) : undefined;
    if (known !== undefined && known.start.digest !== digest) {
      throw new BoxError("exec/key-conflict", "this process_id was started with another request");
    }
    known?.refresh();
    if (known?.claim !== undefined) return { existing: true, execution: known };
    if (deps.ledger.runningCount() + launching >= limits.runningMax) {
      throw new BoxError("exec/too-many", `${limits.runningMax} commands run already`);
    }
    launching += 1;
    try {
      const secrets = deps.secretsFor(request.lineage?.agentId ?? "");
      const plan = addExtras(addSecrets(planLaunch(deps.policy, request, asKept), secrets), extras);
      const shown = extras?.shown ?? describeStart(deps.policy, request);
      const start = toRecord(request, { digest, shown, plan, nowMs: deps.clock.nowMs() });
      const execution = await (known === undefined
        ? deps.ledger.add(start, deps.keepers.syncsIntents ? "keeper" : "us")
        : deps.ledger.renew(known, start));
      failpoint("exec.intended");
      await launch(deps, execution);
      deps.onStarted(execution);
      return { existing: false, execution };
    } finally {
      launching -= 1;
    }
  }

  return async (request, extras) => {
    validateStart(request);
    const { existing, execution } = await oneByOne(request.processId, () => startOnce(request, extras));
    failpoint("exec.started");
    return { existing, execution: toExecution(execution) };
  };
}

async function launch(deps: StartDeps, execution: TrackedExecution): Promise<void> {
  if (!deps.keepers.tellsRecords) execution.follow();
  for (let attempt = 0; attempt < launchAttemptsMax; attempt += 1) {
    const { finished } = await deps.keepers.give(execution);
    failpoint("exec.given");
    let report: KeeperReport | undefined;
    deps.run("follow a keeper", async () => {
      report = await finished;
      encloserOf(deps.policy).mountPoints.release(execution.start.executionId);
      execution.refresh();
      execution.changes.bump();
    });
    await awaitStart(execution, () => report !== undefined);
    if (execution.claim !== undefined) return;
  }
  throw new BoxError("exec/spawn-failed", "no keeper took the command");
}

/** Until the command runs, or has failed to, or the keeper is gone. A claimed execution that is slow is left to run. */
async function awaitStart(execution: TrackedExecution, isGone: () => boolean): Promise<void> {
  const endMs = performance.now() + limits.startMaxMs;
  for (let leftMs = limits.startMaxMs; leftMs > 0 && !isGone(); leftMs = endMs - performance.now()) {
    if (execution.started !== undefined || execution.exit !== undefined) return;
    await execution.changes.after(execution.changes.version, leftMs);
  }
}

interface Planned {
  readonly digest: string;
  readonly shown: NonNullable<StartRecord["shown"]>;
  readonly plan: LaunchPlan;
  readonly nowMs: number;
}

function toRecord(request: StartRequest, { digest, shown, plan, nowMs }: Planned): StartRecord {
  return {
    version: 1,
    executionId: request.processId,
    digest,
    acceptedAtMs: nowMs,
    background: request.background,
    lineage: { agentId: request.lineage?.agentId ?? "", turnId: request.lineage?.turnId ?? "" },
    ...(Object.keys(request.labels).length === 0 ? {} : { labels: { ...request.labels } }),
    ...(request.background ? { shown } : {}),
    launch: plan,
  };
}

function addExtras(plan: LaunchPlan, extras: StartExtras | undefined): LaunchPlan {
  if (extras === undefined) return plan;
  const { openFiles, saveFile } = extras;
  return {
    ...plan,
    openFiles: [...(plan.openFiles ?? []), ...openFiles],
    ...(saveFile === undefined ? {} : { saveFile }),
  };
}

function describeStart(policy: BoxPolicy, { command, cwd }: StartRequest): NonNullable<StartRecord["shown"]> {
  const words = command.case === "argv" ? command.value.args : [command.value ?? ""];
  return { command: words.join(" "), cwd: resolve(policy.workspaceRoot, cwd) };
}
