/**
 * Takes prompts in: resolves the agent, claims the nonce, commits, wakes the turn.
 *
 * One durable write: the agent's transaction. The index learns the nonce's agent and the mark of an open turn before it,
 * in memory, so that nobody in this process misses them; it writes them later. What a crash keeps it from writing, the
 * next start reads from the agent's store. A claim whose transaction failed is found, looked up and passed over.
 */
import type { HostIndex, PromptRow, Provenance } from "@sand/agent-core";
import { createKeyedMutex, failpoint } from "@sand/node-kit";
import {
  type AcceptanceRecord,
  type AgentId,
  BoxError,
  brandId,
  type ClientNonce,
  type Clock,
  type IdSource,
  type PromptAcceptanceStatus,
  type PromptId,
  type TurnId,
} from "@sand/protocol";
import type { AgentHandle } from "../agents/agent-handle.ts";
import type { OpenAgents } from "../agents/open-agents.ts";
import type { PromptDesk, PromptInput, PromptOutcome } from "../gateway/host-ports.ts";
import { recordInTurn } from "../turns/record-in-turn.ts";
import type { TurnQueue } from "../turns/turn-queue.ts";
import { acceptPrompt, promptEntryId } from "./accept-prompt.ts";

export interface PromptDeskDeps {
  readonly index: HostIndex;
  readonly open: OpenAgents;
  readonly queue: TurnQueue;
  readonly clock: Clock;
  readonly ids: IdSource;
  activeAgentId(): AgentId | null;
}

const userProvenance: Provenance = { origin: "user", trust: "trusted", lineage: [] };

export function createPromptDesk(deps: PromptDeskDeps): PromptDesk {
  const exclusive = createKeyedMutex();

  /** The ledger row and its agent, when the nonce was accepted before. */
  async function findAccepted(
    nonce: ClientNonce,
  ): Promise<{ handle: AgentHandle; row: PromptRow } | undefined> {
    const agentId = deps.index.findNonce(nonce);
    if (agentId === undefined) return undefined;
    const handle = await openOrNothing(deps.open, agentId);
    const row = handle?.store.read.findPrompt(nonce);
    return handle === undefined || row === undefined ? undefined : { handle, row };
  }

  async function accept(input: PromptInput): Promise<PromptOutcome> {
    return await exclusive(input.nonce, async () => {
      const before = await findAccepted(input.nonce);
      if (before !== undefined) {
        const digest = input.digestFor(input.agentId ?? before.handle.agentId);
        if (digest !== before.row.digest) return { kind: "conflict" };
        // Its first answer may have been that the disk failed, and then nobody has begun with it.
        deps.queue.wake(before.handle.agentId);
        return { kind: "accepted", record: acceptanceRecord(before.handle.agentId, before.row) };
      }
      return await acceptFresh(input);
    });
  }

  async function acceptFresh(input: PromptInput): Promise<PromptOutcome> {
    const target = input.agentId ?? deps.activeAgentId();
    if (target === null) {
      throw new BoxError("gateway/bad-request", "agentId is missing and no agent is active", {
        hint: "name the agent, or create one",
      });
    }
    // Opening comes first: a superseding prompt may end a running turn only when it can itself be stored and run.
    const handle = await deps.open.open(target);
    if (handle.isRetired) throw new BoxError("gateway/agent-not-found", "the agent is being deleted");
    deps.queue.refuseWhenClosing();
    failpoint("accept.before");
    // An earlier claim without a prompt behind it is replaced: its try died or failed, or its agent was deleted.
    deps.index.claimNonce(input.nonce, target);
    deps.index.markOpenTurn(target);
    failpoint("accept.claimed");
    const row = rowOf(input, target);
    const accepted = await handle.commit((tx) =>
      acceptPrompt(tx, {
        row,
        replyToId: input.replyToId ?? null,
        freshTurnId: brandId<TurnId>(deps.ids.next()),
      }),
    );
    if (accepted.acceptance.kind === "conflict") return { kind: "conflict" };
    if (accepted.interrupts) handle.onInterrupt?.();
    deps.queue.wake(target);
    return { kind: "accepted", record: acceptanceRecord(target, accepted.row) };
  }

  function rowOf(input: PromptInput, target: AgentId): PromptRow {
    const promptId = brandId<PromptId>(deps.ids.next());
    return {
      promptId,
      nonce: input.nonce,
      digest: input.digestFor(target),
      entryId: promptEntryId(promptId),
      text: input.text,
      whenBusy: input.whenBusy,
      provenance: userProvenance,
      acceptedAtMs: deps.clock.nowMs(),
      turnId: null,
    };
  }

  async function status(query: {
    readonly clientNonce: ClientNonce;
    readonly agentId?: AgentId;
  }): Promise<PromptAcceptanceStatus> {
    const found = await findAccepted(query.clientNonce);
    if (found === undefined) return { outcome: "not-found" };
    if (query.agentId !== undefined && query.agentId !== found.handle.agentId)
      return { outcome: "not-found" };
    return { outcome: "found", record: acceptanceRecord(found.handle.agentId, found.row) };
  }

  async function interrupt(id: AgentId): Promise<{ readonly hadActiveRun: boolean }> {
    const handle = await deps.open.open(id);
    if (handle.turn() === null) return { hadActiveRun: false };
    const hadActiveRun = await handle.commit((tx) => {
      const running = tx.openTurn();
      if (running === undefined) return false;
      const fence = { turnId: running.turnId, generation: running.generation };
      recordInTurn(tx, fence, { kind: "interruptRequested", by: "user", atMs: deps.clock.nowMs() });
      return true;
    });
    if (hadActiveRun) {
      handle.onInterrupt?.();
      deps.queue.wake(id);
    }
    return { hadActiveRun };
  }

  return { accept, status, interrupt };
}

async function openOrNothing(open: OpenAgents, agentId: AgentId): Promise<AgentHandle | undefined> {
  try {
    return await open.open(agentId);
  } catch (error) {
    // The agent was deleted, and its acceptances with it.
    if (error instanceof BoxError && error.code === "gateway/agent-not-found") return undefined;
    throw error;
  }
}

function acceptanceRecord(agentId: AgentId, row: PromptRow): AcceptanceRecord {
  return {
    accountSlot: "host",
    clientNonce: row.nonce,
    inputDigest: row.digest,
    status: "accepted",
    acceptedAtMs: row.acceptedAtMs,
    agentId,
    echoEntryId: row.entryId,
    rejectionCode: null,
  };
}
