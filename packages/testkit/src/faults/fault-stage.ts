/**
 * A real host on a disk that fails on order, with its calls recorded, and the operations that are tried on it.
 *
 * Each try arms the fault, posts one request, and when the fault has been met or the work is over lets the disk go well
 * again. Then the same request is posted until it goes through: without a restart, by the host's own doing.
 */
import { join } from "node:path";
import { callGateway, fieldOf, type GatewayAccess, type GatewayReply, listOf } from "../gateway-client.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld, type SandWorld } from "../processes/sand-world.ts";
import { waitUntil } from "../wait-until.ts";
import { compileDiskShim } from "./compile-disk-shim.ts";
import type { DiskLoad, Promised, Repeatable } from "./disk-load.ts";
import { createFaultControl, type Fault } from "./fault-control.ts";
import {
  type FaultOperation,
  idOf,
  type PreparedOperation,
  postNoted,
  prepareOperation,
} from "./fault-operations.ts";

export interface FaultTry {
  readonly operation: FaultOperation;
  readonly fault: Fault;
}

export interface TryOutcome {
  /** calls that failed; none means that the operation makes fewer calls than were let through */
  readonly met: number;
  readonly answer: GatewayReply;
  readonly findings: readonly string[];
}

export interface FaultStage extends AsyncDisposable {
  readonly world: SandWorld;
  readonly recordFile: string;
  attempt(attempt: FaultTry): Promise<TryOutcome>;
  load(): DiskLoad;
  /** SIGKILL, as no tidy end may help what is judged afterwards */
  killHost(): Promise<void>;
}

/** codes that tell a client what is wrong; anything else is a bug that shows through */
const clearCodes = ["store/unavailable", "store/full", "host/overloaded"];
const resumeDeadlineMs = 90_000;
/** how long a fault that stays is left on after it was met, in looks at the agent */
const workDeadlineMs = 30_000;

export async function openFaultStage(options: {
  readonly bundles: SandBundles;
  readonly folder: string;
}): Promise<FaultStage> {
  const { bundles, folder } = options;
  const shim = await compileDiskShim(folder);
  const controlFile = join(folder, "control");
  const recordFile = join(folder, "record.bin");
  const control = createFaultControl(controlFile);
  const world = await createWorld({ label: "faults", bundles, sandbox: "off" });
  await world.startDaemon();
  const env = {
    LD_PRELOAD: shim,
    DISK_SHIM_ROOT: world.dataRoot,
    DISK_SHIM_LOG: recordFile,
    DISK_SHIM_CONTROL: controlFile,
  };
  const { access, process: host } = await world.startHost({ env });
  const promised = new Map<string, Promised>();
  const deleted = new Set<string>();
  const repeatable: Repeatable[] = [];
  let count = 0;

  async function post(prepared: PreparedOperation): Promise<GatewayReply> {
    const requestId = crypto.randomUUID();
    const reply = await postNoted(access, prepared, requestId);
    if (reply.kind !== "answered" || reply.status !== 200) return reply;
    const promise = prepared.promises(reply.body);
    if (promise !== undefined) promised.set(requestId, promise);
    return reply;
  }

  const first = await prepareOperation("create", { access, agentId: "", word: "first", count });
  const made = await post(first);
  const agentId = made.kind === "answered" ? idOf(made.body) : "";

  async function attempt({ operation, fault }: FaultTry): Promise<TryOutcome> {
    count += 1;
    const prepared = await prepareOperation(operation, { access, agentId, word: `w-${count}`, count });
    if (operation === "delete") deleted.add(String(fieldOf(prepared.body, "id")));
    control.arm(fault);
    const answer = await post(prepared);
    if (prepared.turnOf !== undefined) await untilMetOrIdle(access, prepared.turnOf, () => control.failed());
    control.disarm();
    const met = control.failed();
    const findings = judgeAnswer(answer, met);
    const isThrough = await resume(prepared, answer);
    if (!isThrough.ok) findings.push(isThrough.why);
    if (prepared.repeatable !== undefined) repeatable.push(prepared.repeatable);
    if (host.exit() !== undefined) findings.push(`the host ended: ${await host.output()}`);
    return { met, answer, findings };
  }

  async function resume(prepared: PreparedOperation, answer: GatewayReply) {
    let last = answer;
    const through = waitUntil(
      "the request to go through",
      async () => {
        if (last.kind === "answered" && last.status === 200) return true;
        last = await post(prepared);
        return last.kind === "answered" && last.status === 200;
      },
      { deadlineMs: resumeDeadlineMs, everyMs: 100 },
    );
    const turnOf = prepared.turnOf;
    const done = turnOf === undefined ? through : through.then(() => untilIdle(access, turnOf));
    return await done.then(
      () => ({ ok: true, why: "" }),
      () => ({ ok: false, why: `work doesn't go on by itself: ${JSON.stringify(last)}` }),
    );
  }

  return {
    world,
    recordFile,
    attempt,
    load: () => ({ promised, deleted, repeatable }),
    killHost: async () => void (await host.end()),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      control[Symbol.dispose]();
    },
  };
}

/** What a client may hear: that it went well, or why it didn't and that it may try again. */
function judgeAnswer(answer: GatewayReply, met: number): string[] {
  if (answer.kind === "unreachable") return [`no answer: ${answer.reason}`];
  if (answer.status === 200) return [];
  const code = String(fieldOf(answer.body, "failureCode"));
  if (met === 0) return [`refused although nothing failed: ${JSON.stringify(answer.body)}`];
  return answer.status === 503 && clearCodes.includes(code)
    ? []
    : [`not a clear error: ${answer.status} ${JSON.stringify(answer.body)}`];
}

async function isRunning(access: GatewayAccess, agentId: string): Promise<boolean | undefined> {
  const reply = await callGateway(access, "listAgents", {});
  if (reply.kind !== "answered" || reply.status !== 200) return undefined;
  const row = listOf(reply.body).find((one) => fieldOf(one, "id") === agentId);
  return row === undefined ? undefined : fieldOf(row, "isRunning") === true;
}

async function untilMetOrIdle(access: GatewayAccess, agentId: string, met: () => number): Promise<void> {
  const looks = { deadlineMs: workDeadlineMs, everyMs: 20 };
  await waitUntil(
    "the fault or the end",
    async () => met() > 0 || !(await isRunning(access, agentId)),
    looks,
  ).catch(() => undefined);
}

async function untilIdle(access: GatewayAccess, agentId: string): Promise<void> {
  let idleLooks = 0;
  await waitUntil(
    "the turn to end",
    async () => {
      idleLooks = (await isRunning(access, agentId)) === false ? idleLooks + 1 : 0;
      return idleLooks >= 2;
    },
    { deadlineMs: resumeDeadlineMs, everyMs: 30 },
  );
}
