/**
 * What a host had promised by some point of its record, taken from what it had sent by then: answers of 200 to requests
 * that are known by their id, and events by their number. Nothing here depends on when a client read it.
 */
import type { AgentView } from "./agent-view.ts";
import type { DiskLoad } from "./disk-load.ts";
import type { Expected } from "./judge-view.ts";

export interface Promises {
  /** true when the text promised something new */
  heard(text: string): boolean;
  readonly created: ReadonlySet<string>;
  readonly deleted: ReadonlySet<string>;
  /** agent → its name that was confirmed last */
  readonly names: ReadonlyMap<string, string>;
  /** the highest event sent, of whatever agent */
  sentSeq(): number;
  of(agentId: string): Expected;
  /** nonce → agent */
  readonly nonces: ReadonlyMap<string, string>;
}

const answerPattern = /HTTP\/1\.1 200.*?x-sand-request-id: ([\w-]+)/gisu;
const eventPattern = /^id: (\d+)\r?$/gmu;

export function createPromises(load: DiskLoad, truth: ReadonlyMap<string, AgentView>): Promises {
  const created = new Set<string>();
  const deleted = new Set<string>();
  const names = new Map<string, string>();
  const nonces = new Map<string, string>();
  const byAgent = new Map<string, { nonces: Set<string>; sentSeq: number }>();
  const agentOfSeq = new Map<number, string>();
  for (const [agentId, view] of truth) for (const seq of view.events.keys()) agentOfSeq.set(seq, agentId);
  let highest = 0;

  function of(agentId: string): { nonces: Set<string>; sentSeq: number } {
    const known = byAgent.get(agentId) ?? { nonces: new Set<string>(), sentSeq: 0 };
    byAgent.set(agentId, known);
    return known;
  }

  function hearAnswer(requestId: string): boolean {
    const promise = load.promised.get(requestId);
    if (promise === undefined) return false;
    switch (promise.kind) {
      case "agent":
        created.add(promise.agentId);
        return true;
      case "deleted":
        deleted.add(promise.agentId);
        return true;
      case "name":
        names.set(promise.agentId, promise.name);
        return true;
      case "prompt":
        nonces.set(promise.nonce, promise.agentId);
        of(promise.agentId).nonces.add(promise.nonce);
        return true;
    }
  }

  function hearEvent(seq: number): boolean {
    highest = Math.max(highest, seq);
    const agentId = agentOfSeq.get(seq);
    if (agentId === undefined) return false;
    of(agentId).sentSeq = Math.max(of(agentId).sentSeq, seq);
    return true;
  }

  return {
    heard(text) {
      let isNew = false;
      for (const [, requestId = ""] of text.matchAll(answerPattern)) isNew = hearAnswer(requestId) || isNew;
      for (const [, seq] of text.matchAll(eventPattern)) isNew = hearEvent(Number(seq)) || isNew;
      return isNew;
    },
    created,
    deleted,
    names,
    nonces,
    sentSeq: () => highest,
    of,
  };
}
