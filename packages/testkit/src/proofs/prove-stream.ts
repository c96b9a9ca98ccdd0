/**
 * Proof of the resumable event stream: wherever the socket is cut, before or behind a frame or in the middle of its
 * bytes, plain or compressed, before or after a restart of the host, the union of what a client has is the committed
 * log, and nothing is in it twice.
 *
 * The log itself is read from the stores' files, not from the host.
 */
import { eventTable, wantsChannel } from "@sand/protocol";
import { openStream, type RecordedFrame } from "../event-recorder.ts";
import { callOrFail, fieldOf, type GatewayAccess, textOf } from "../gateway-client.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld, type SandWorld } from "../processes/sand-world.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { readEvents, type StoredEvent } from "../sweep/read-stores.ts";
import { waitForIdle } from "../sweep/sweep-clients.ts";
import { waitUntil } from "../wait-until.ts";
import { collectFindings, type Findings, type ProofResult } from "./proof-result.ts";

export interface StreamProofOptions {
  readonly bundles: SandBundles;
  readonly seed: number;
  /** cuts at random bytes, in addition to one behind every frame */
  readonly byteCuts: number;
  /** every this-many-th frame is cut at; 1 in the full proof */
  readonly frameStride: number;
}

const readDeadlineMs = 10_000;

export async function proveStream(options: StreamProofOptions): Promise<ProofResult> {
  await using world = await createWorld({ label: "stream", bundles: options.bundles, sandbox: "off" });
  await world.startDaemon();
  const findings = collectFindings();
  const live = await followLive(world);
  const { access } = live;
  const log = await settleLog(world, access);
  expectUnion(findings, live.frames, log, "cut after every frame while turns ran and the host was killed");
  let cuts = live.connections;
  for (const reader of readersOf(log)) {
    for (let at = 0; at < reader.log.length; at += options.frameStride) {
      const frames = await readWithCut({ ...reader, access, afterFrames: at });
      expectUnion(findings, frames, reader.log, `${reader.name}, cut after frame ${at}`);
      cuts += 1;
    }
  }
  const random = createSeededRandom(options.seed);
  const bytes = Math.max(
    1,
    log.reduce((sum, event) => sum + event.payload.length, 0),
  );
  for (let round = 0; round < options.byteCuts; round += 1) {
    const afterBytes = random.whole(1, bytes);
    const reader = random.pick(readersOf(log));
    const frames = await readWithCut({ ...reader, access, afterBytes });
    expectUnion(findings, frames, reader.log, `${reader.name}, cut after byte ${afterBytes}`);
    cuts += 1;
  }
  return {
    figures: { events: log.length, cuts, restarts: live.restarts, seed: options.seed },
    findings: findings.list,
  };
}

interface Reader {
  readonly name: string;
  /** what this reader must get of the log */
  readonly log: readonly StoredEvent[];
  readonly channels?: string;
  readonly gzip: boolean;
}

const allChannels = Object.keys(eventTable).join(",");

/** A client that names every channel, one that names none and so gets the contract's, and the same compressed. */
function readersOf(log: readonly StoredEvent[]): readonly [Reader, ...Reader[]] {
  const contract = log.filter((event) => wantsChannel(new Set(), event.channel));
  return [
    { name: "all channels", log, channels: allChannels, gzip: false },
    { name: "the contract's channels", log: contract, gzip: false },
    { name: "all channels, compressed", log, channels: allChannels, gzip: true },
  ];
}

interface LiveRead {
  readonly access: GatewayAccess;
  readonly frames: readonly RecordedFrame[];
  readonly connections: number;
  readonly restarts: number;
}

/** A client that is cut after every single frame, while turns run and the host is killed in the middle of a command. */
async function followLive(world: SandWorld): Promise<LiveRead> {
  let { access, process: host } = await world.startHost();
  const frames: RecordedFrame[] = [];
  let connections = 0;
  let isOver = false;
  const follow = async () => {
    while (!isOver) {
      connections += 1;
      frames.push(...(await readOneFrame(access, lastSeq(frames), () => isOver)));
    }
  };
  const following = follow();
  const agents = [await createAgent(access, "first"), await createAgent(access, "second")];
  await sendPrompt(access, agents[0], "run-many echo one; sleep 0.3 ;; echo two ;; sleep 0.6; echo three");
  await sendPrompt(access, agents[1], "parallel echo left ;; echo right; sleep 0.5");
  await waitUntil(
    "a command to run",
    async () => frames.some((frame) => frame.payload.includes("tool-call")),
    {
      deadlineMs: readDeadlineMs,
    },
  );
  await host.end();
  ({ access, process: host } = await world.startHost());
  await sendPrompt(access, agents[1], "say and a last word");
  await waitForIdle({ access: () => access }, agents);
  const log = await settleLog(world, access);
  await waitUntil("the client to have caught up", () => lastSeq(frames) >= (log.at(-1)?.seq ?? 0), {
    deadlineMs: readDeadlineMs,
  }).catch(() => undefined);
  isOver = true;
  await following;
  return { access, frames, connections, restarts: 1 };
}

/** Nothing when the host is away or silent for a while: the caller comes again. */
async function readOneFrame(
  access: GatewayAccess,
  since: number,
  isOver: () => boolean,
): Promise<readonly RecordedFrame[]> {
  try {
    const session = await openStream(access, {
      since,
      channels: allChannels,
      onFrame: (one) => {
        if (one.frames.at(-1)?.seq !== null) one.cut();
      },
    });
    const idle = waitUntil("the proof to be over", isOver, { deadlineMs: readDeadlineMs }).catch(
      () => undefined,
    );
    await Promise.race([session.closed, idle]);
    session.cut();
    return session.frames.filter((frame) => frame.seq !== null).slice(0, 1);
  } catch {
    // Nobody listens between a kill and the next start.
    await new Promise((resolve) => setTimeout(resolve, 20));
    return [];
  }
}

interface CutRead extends Omit<Reader, "name"> {
  readonly access: GatewayAccess;
  readonly afterFrames?: number;
  readonly afterBytes?: number;
}

/** One cut, then the rest under the last whole frame's number. */
async function readWithCut(cut: CutRead): Promise<readonly RecordedFrame[]> {
  const end = cut.log.at(-1)?.seq ?? 0;
  const channels = cut.channels === undefined ? {} : { channels: cut.channels };
  const first = await readUntil(cut.access, { ...channels, since: 0, gzip: cut.gzip }, end, cut);
  if (lastSeq(first) >= end) return first;
  const since = lastSeq(first);
  return [...first, ...(await readUntil(cut.access, { ...channels, since, gzip: cut.gzip }, end))];
}

async function readUntil(
  access: GatewayAccess,
  stream: { readonly since: number; readonly gzip: boolean; readonly channels?: string },
  end: number,
  cut: { readonly afterFrames?: number; readonly afterBytes?: number } = {},
): Promise<readonly RecordedFrame[]> {
  if (cut.afterFrames === 0) {
    const session = await openStream(access, stream);
    session.cut();
    return [];
  }
  const session = await openStream(access, {
    ...stream,
    onFrame: (one) => {
      const committed = one.frames.filter((frame) => frame.seq !== null);
      if (committed.length === cut.afterFrames || (committed.at(-1)?.seq ?? 0) >= end) one.cut();
    },
    onBytes: (bytes, one) => {
      if (cut.afterBytes !== undefined && bytes >= cut.afterBytes) one.cut();
    },
  });
  const late = waitUntil("the stream to reach its end", () => lastSeq(session.frames) >= end, {
    deadlineMs: readDeadlineMs,
  }).catch(() => undefined);
  await Promise.race([session.closed, late]);
  session.cut();
  return session.frames.filter((frame) => frame.seq !== null);
}

function expectUnion(
  findings: Findings,
  frames: readonly RecordedFrame[],
  log: readonly StoredEvent[],
  where: string,
): void {
  const got = frames.map((frame) => `${frame.seq} ${frame.channel}`);
  const wanted = log.map((event) => `${event.seq} ${event.channel}`);
  const doubled = got.filter((one, at) => got.indexOf(one) !== at);
  const missing = wanted.filter((one) => !got.includes(one));
  const invented = got.filter((one) => !wanted.includes(one));
  findings.expect(doubled.length === 0, `${where}: twice ${doubled.slice(0, 3).join(", ")}`);
  findings.expect(missing.length === 0, `${where}: missing ${missing.slice(0, 3).join(", ")}`);
  findings.expect(invented.length === 0, `${where}: not in the log ${invented.slice(0, 3).join(", ")}`);
  const payloads = new Map(log.map((event) => [event.seq, event.payload]));
  const changed = frames.filter(
    (frame) => sortedJson(frame.payload) !== sortedJson(payloads.get(frame.seq ?? -1)),
  );
  findings.expect(changed.length === 0, `${where}: another payload under ${changed[0]?.seq}`);
  findings.expect(isRising(frames), `${where}: out of order`);
}

function sortedJson(text: string | undefined): string {
  return text === undefined ? "" : JSON.stringify(JSON.parse(text));
}

function isRising(frames: readonly RecordedFrame[]): boolean {
  return frames.every((frame, at) => at === 0 || (frame.seq ?? 0) > (frames[at - 1]?.seq ?? 0));
}

function lastSeq(frames: readonly RecordedFrame[]): number {
  return frames.reduce((highest, frame) => Math.max(highest, frame.seq ?? 0), 0);
}

/** The log, once two looks half a second apart are the same. */
async function settleLog(world: SandWorld, access: GatewayAccess): Promise<readonly StoredEvent[]> {
  let seen = -1;
  return waitUntil(
    "the log to be quiet",
    async () => {
      // The call makes sure that what was asked for before has been committed.
      await callOrFail(access, "getHostStatus", {});
      const log = readEvents(world.dataRoot);
      if (log.length === seen) return log;
      seen = log.length;
      return undefined;
    },
    { deadlineMs: readDeadlineMs, everyMs: 500 },
  );
}

async function createAgent(access: GatewayAccess, name: string): Promise<string> {
  const made = await callOrFail(access, "createAgent", {
    name,
    description: "",
    clientNonce: `create-${name}`,
  });
  return textOf(fieldOf(fieldOf(made, "agent"), "id"));
}

async function sendPrompt(access: GatewayAccess, agentId: string | undefined, script: string): Promise<void> {
  await callOrFail(access, "sendPrompt", { agentId, prompt: `script:${script}` });
}
