/**
 * Judges one possible state of the disk: its parts are written to a folder, opened by the store's own code and compared
 * with what was promised. A part that was judged before under the same promises isn't judged again.
 */
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { brandId, type ClientNonce } from "@sand/protocol";
import { openHostIndex } from "@sand/store";
import { viewAgent } from "./agent-view.ts";
import type { DiskState, StateFile } from "./disk-model.ts";
import { judgeView } from "./judge-view.ts";
import type { Promises } from "./promises.ts";
import { noncesOf, type RecordedRun } from "./record-run.ts";

export interface StateJudge {
  /** sentences; `undefined` when nothing of the state is new */
  judge(state: DiskState, promises: Promises): Promise<readonly string[] | undefined>;
}

/** parts that are remembered as judged */
const judgedMax = 2_000_000;

/** `folder` lies best in memory: nothing in it has to be durable. */
export function createStateJudge(run: RecordedRun, folder: string): StateJudge {
  const judged = new Set<string>();
  const nonces = noncesOf(run.load);

  function isNew(key: string): boolean {
    if (judged.has(key)) return false;
    if (judged.size < judgedMax) judged.add(key);
    return true;
  }

  async function judgeAgent(
    agentId: string,
    files: DiskState,
    promises: Promises,
  ): Promise<readonly string[]> {
    const expected = promises.of(agentId);
    const findings = judgeName(files.get("profile.json"), promises.names.get(agentId), agentId);
    if (!files.has("store.db")) {
      const isOwed = expected.nonces.size > 0 || promises.created.has(agentId);
      const mayBeGone = run.load.deleted.has(agentId) || !isOwed;
      return mayBeGone ? findings : [...findings, `lost: the store of ${agentId}`];
    }
    const place = join(folder, "agent");
    writeState(files, place);
    try {
      const isUnfinished = !promises.created.has(agentId);
      const view = await viewAgent({ directory: place, agentId, nonces, isUnfinished });
      const truth = run.truth.get(agentId);
      return truth === undefined ? findings : [...findings, ...judgeView(view, truth, expected)];
    } catch (error) {
      return [...findings, `the store of ${agentId} can't be read: ${reasonOf(error)}`];
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  }

  return {
    async judge(state, promises) {
      const findings: string[] = [];
      let sawNew = false;
      for (const [agentId, files] of groupByAgent(state)) {
        const owed = promises.of(agentId);
        const owedKey = `${owed.nonces.size}/${owed.sentSeq}/${promises.names.get(agentId)}`;
        if (!isNew(`${agentId}/${promises.created.has(agentId)}/${owedKey}/${keyOf(files)}`)) continue;
        sawNew = true;
        findings.push(...(await judgeAgent(agentId, files, promises)));
      }
      for (const agentId of promises.created) {
        const mayBeGone = run.load.deleted.has(agentId);
        if (!mayBeGone && !hasAgent(state, agentId)) findings.push(`lost: the folder of ${agentId}`);
      }
      const roots = new Map([...state].filter(([path]) => path.startsWith("host.db")));
      if (isNew(`index/${keyOf(roots)}/${promises.sentSeq()}`)) {
        sawNew = true;
        findings.push(...(await judgeIndex(run, state, promises, join(folder, "root"))));
      }
      return sawNew ? findings : undefined;
    },
  };
}

function hasAgent(state: DiskState, agentId: string): boolean {
  return state.has(`agents/${agentId}/store.db`);
}

/** Files of each agent's folder by their name in it. */
function groupByAgent(state: DiskState): ReadonlyMap<string, Map<string, StateFile>> {
  const agents = new Map<string, Map<string, StateFile>>();
  for (const [path, file] of state) {
    const [top, agentId, ...rest] = path.split("/");
    if (top !== "agents" || agentId === undefined || rest.length === 0) continue;
    const files = agents.get(agentId) ?? new Map<string, StateFile>();
    files.set(rest.join("/"), file);
    agents.set(agentId, files);
  }
  return agents;
}

const keyOf = (files: DiskState): string =>
  [...files]
    .map(([path, file]) => `${path}=${file.key}`)
    .sort()
    .join(" ");

export function writeState(state: DiskState, place: string): void {
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true, mode: 0o700 });
  for (const [path, file] of state) {
    const target = join(place, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    writeFileSync(target, file.content(), { mode: 0o600 });
    utimesSync(target, file.atMs / 1_000, file.atMs / 1_000);
  }
}

/** A file that is replaced by a rename is the old one or the new one, and after the answer it isn't an older one. */
function judgeName(
  profile: StateFile | undefined,
  confirmed: string | undefined,
  agentId: string,
): readonly string[] {
  if (profile === undefined)
    return confirmed === undefined ? [] : [`lost: the profile of ${agentId}, confirmed as ${confirmed}`];
  try {
    const { name }: { readonly name: unknown } = JSON.parse(profile.content().toString());
    if (confirmed === undefined || roundOf(String(name)) >= roundOf(confirmed)) return [];
    return [`lost: the name ${confirmed}, and ${String(name)} is there`];
  } catch {
    return [`the profile of ${agentId} is damaged`];
  }
}

/** Names end in the number of their round; the first name of an agent ends in none. */
function roundOf(name: string): number {
  return name.startsWith("name-") ? Number(name.split("-").at(-1)) : -1;
}

async function judgeIndex(
  run: RecordedRun,
  state: DiskState,
  promises: Promises,
  root: string,
): Promise<readonly string[]> {
  writeState(state, root);
  try {
    const logger = createLogger({ name: "judge", level: "silent" });
    await using index = openHostIndex({ root, onCommitted: () => {}, clock: systemClock, logger });
    await index.catchUp();
    const shown = new Set<string>(index.agents().map(({ agentId }) => agentId));
    const findings = [...promises.created]
      .filter((agentId) => !shown.has(agentId) && !run.load.deleted.has(agentId))
      .map((agentId) => `lost: ${agentId} isn't in the roster`);
    for (const agentId of promises.deleted)
      if (shown.has(agentId)) findings.push(`invented: ${agentId} was deleted and is back`);
    for (const [nonce, agentId] of promises.nonces)
      if (index.findNonce(brandId<ClientNonce>(nonce)) !== agentId)
        findings.push(`lost: the index doesn't know ${nonce}`);
    if (index.lastSeq() < promises.sentSeq())
      findings.push(`event ${promises.sentSeq()} was sent, and numbers go on from ${index.lastSeq()}`);
    return findings;
  } catch (error) {
    return [`the index can't be opened: ${reasonOf(error)}`];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
