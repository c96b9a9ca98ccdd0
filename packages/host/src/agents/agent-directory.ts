/**
 * The roster: creating, changing, removing and naming agents.
 *
 * Creation is recorded in the host's index under its nonce before the folder is made, so a repeated request finishes
 * the same agent. Removal moves the folder out of the roster in one rename; what is left is deleted afterwards, also
 * by the next start.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { HostIndex } from "@sand/agent-core";
import { type createKeyedMutex, syncFolder } from "@sand/node-kit";
import {
  type AgentId,
  type AgentProfile,
  type AgentSummary,
  BoxError,
  brandId,
  type Clock,
  type IdSource,
  type ProfileChange,
} from "@sand/protocol";
import { indexedKeys, journalFolder } from "@sand/store";
import type { AgentDirectory, CreateAgentInput, CreateAgentOutcome } from "../gateway/host-ports.ts";
import type { ActiveAgent } from "./active-agent.ts";
import { agentFolder, agentsFolder, makeAgentFolder, writeProfile } from "./agent-files.ts";
import { type AgentHandle, asJson } from "./agent-handle.ts";
import type { OpenAgents } from "./open-agents.ts";
import { markViewed } from "./roster-state.ts";
import { metadataKeyName, readMetadata } from "./summarize-agent.ts";

/** agents in one host; each costs a folder and a row of the index */
export const agentsMax = 10_000;

export interface AgentDirectoryDeps {
  readonly dataRoot: string;
  readonly index: HostIndex;
  readonly open: OpenAgents;
  readonly active: ActiveAgent;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** one change of an agent's files at a time, over all that change them */
  readonly exclusive: ReturnType<typeof createKeyedMutex>;
  /** whether something works on the agent's open turn, or will as soon as the host is up */
  isWorkedOn(agentId: AgentId): boolean;
  /** ends the agent's turn for good and waits until nothing runs for it any more */
  stopTurns(agentId: AgentId): Promise<void>;
  /** waits for the end of a repair of the agent's store; false when none is under way, or none that ends soon */
  whenRepaired(agentId: AgentId): Promise<boolean>;
  /** resolves when nothing is written any more of what was made from the agent's store */
  forgetProjections(agentId: AgentId): Promise<void>;
}

export function createAgentDirectory(deps: AgentDirectoryDeps): AgentDirectory {
  const { exclusive } = deps;

  function list(): readonly AgentSummary[] {
    const activeId = deps.active.current();
    return deps.index.agents().map((row) => {
      // A row may say "running" of a turn that nothing works on, because its store can't be read any more. While
      // something works on it the turn isn't over, also when its store is out of reach for a moment.
      const isDown = !deps.isWorkedOn(row.agentId);
      const summary = parseSummary(row.summary);
      return { ...summary, isActive: row.agentId === activeId, ...(isDown ? stoppedFlags : {}) };
    });
  }

  async function announceRoster(): Promise<void> {
    await deps.index.commitHostEvent(
      "agents",
      asJson({ agents: list(), activeAgentId: deps.active.current() }),
    );
  }

  async function build(agentId: AgentId, input: CreateAgentInput): Promise<AgentHandle> {
    const folder = makeAgentFolder(deps.dataRoot, agentId);
    await writeProfile(folder, profileOf(input.profile, undefined));
    syncFolder(agentsFolder(deps.dataRoot));
    const handle = await deps.open.open(agentId);
    await handle.commit((tx) => {
      if (readMetadata(tx) !== undefined) return;
      const now = deps.clock.nowMs();
      tx.setValue(metadataKeyName, {
        createdAt: now,
        updatedAt: now,
        origin: input.origin,
        purpose: input.purpose ?? null,
      });
      // So that a host whose index was lost still knows which request made this agent.
      if (input.clientNonce !== undefined)
        tx.setValue(indexedKeys.creation, { nonce: input.clientNonce, digest: input.digest });
      tx.rosterChanged();
    });
    return handle;
  }

  async function create(input: CreateAgentInput): Promise<CreateAgentOutcome> {
    const nonce = input.clientNonce;
    if (nonce === undefined)
      return { kind: "created", agent: await createFresh(input, brandId<AgentId>(deps.ids.next())) };
    return await exclusive(nonce, async () => {
      const seen = deps.index.findCreation(nonce);
      if (seen === undefined) {
        const agentId = brandId<AgentId>(deps.ids.next());
        refuseWhenFull();
        await deps.index.recordCreation(nonce, agentId, input.digest);
        return { kind: "created", agent: await createFresh(input, agentId) };
      }
      if (seen.digest !== input.digest) return { kind: "conflict" };
      const isThere = deps.index.agents().some((row) => row.agentId === seen.agentId);
      const agent = isThere
        ? (await deps.open.open(seen.agentId)).summary()
        : await createFresh(input, seen.agentId);
      return { kind: "existing", agent };
    });
  }

  function refuseWhenFull(): void {
    if (deps.index.agents().length < agentsMax) return;
    throw new BoxError("gateway/agent-limit", `this host holds ${agentsMax} agents already`, {
      hint: "delete agents that are no longer needed",
    });
  }

  async function createFresh(input: CreateAgentInput, agentId: AgentId): Promise<AgentSummary> {
    refuseWhenFull();
    const handle = await build(agentId, input);
    if (deps.active.current() === null) await deps.active.set(agentId);
    await announceRoster();
    return handle.summary();
  }

  async function update(id: AgentId, change: ProfileChange): Promise<AgentSummary | null> {
    return await exclusive(id, async () => {
      const handle = await openIfThere(deps.open, id);
      if (handle === null) return null;
      const profile = profileOf(change, handle.profile());
      await writeProfile(handle.folder, profile);
      handle.setProfile(profile);
      await handle.commit((tx) => {
        const metadata = readMetadata(tx);
        if (metadata !== undefined)
          tx.setValue(metadataKeyName, { ...metadata, updatedAt: deps.clock.nowMs() });
        tx.rosterChanged();
      });
      return handle.summary();
    });
  }

  /** Ends all that goes on for the agent. A repair of its store is waited for: it would put back what is removed. */
  async function stopForRemoval(id: AgentId): Promise<"stopped" | "not there"> {
    for (;;) {
      try {
        if ((await openIfThere(deps.open, id).catch(passDamage)) === null) return "not there";
        await deps.stopTurns(id);
        return "stopped";
      } catch (error) {
        // Bounded: a store is repaired some times only, and refused from then on.
        const mayBeRepaired = error instanceof BoxError && error.code === "store/unavailable";
        if (!mayBeRepaired || !(await deps.whenRepaired(id))) throw error;
      }
    }
  }

  async function removeOne(id: AgentId): Promise<void> {
    await exclusive(id, async () => {
      if ((await stopForRemoval(id)) === "not there") return;
      await deps.forgetProjections(id);
      mkdirSync(trashFolder(deps.dataRoot), { recursive: true, mode: 0o700 });
      // Before the agent itself: without it, nobody would know any more that this is to be removed.
      moveIfThere(journalFolder(deps.dataRoot, id), join(trashFolder(deps.dataRoot), deps.ids.next()));
      // In one breath, so that nobody opens the folder again between its closing and its removal.
      const closed = deps.open.close(id);
      renameSync(agentFolder(deps.dataRoot, id), join(trashFolder(deps.dataRoot), deps.ids.next()));
      await closed;
      syncFolder(agentsFolder(deps.dataRoot));
      deps.index.removeAgent(id);
    });
  }

  async function remove(ids: readonly AgentId[]): Promise<void> {
    for (const id of ids) await removeOne(id);
    const activeId = deps.active.current();
    if (activeId !== null && ids.includes(activeId))
      await deps.active.set(deps.index.agents().at(-1)?.agentId ?? null);
    await announceRoster();
    emptyTrash(deps.dataRoot);
  }

  return {
    list,
    count: () => deps.index.agents().length,
    create,
    update,
    remove,
    reads: async (id) => (await deps.open.open(id)).store.read,
    activeAgentId: () => deps.active.current(),
    async activate(id) {
      const handle = await deps.open.open(id);
      const before = deps.active.current();
      await deps.active.set(id);
      await handle.commit((tx) => {
        markViewed(tx, deps.clock.nowMs());
        tx.rosterChanged();
      });
      if (before !== null && before !== id) await deps.open.peek(before)?.commit((tx) => tx.rosterChanged());
    },
    summary(id) {
      const found = list().find((agent) => agent.id === id);
      if (found === undefined) throw new BoxError("gateway/agent-not-found", "no agent has this id");
      return found;
    },
  };
}

const stoppedFlags = {
  isRunning: false,
  isComposingMessage: false,
  isRunningTurn: false,
  isRetrying: false,
} as const;

const emptyProfile: AgentProfile = {
  name: "",
  description: "",
  title: "",
  avatarShape: null,
  avatarColor: null,
};

/** Absent fields stay as they are. */
function profileOf(change: ProfileChange, before: AgentProfile = emptyProfile): AgentProfile {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const { name, description, title, avatarShape, avatarColor } = { ...before, ...given };
  return { name, description, title, avatarShape, avatarColor };
}

/** The index keeps what `summarizeAgent` made, as plain JSON. */
function parseSummary(stored: unknown): AgentSummary {
  return stored as AgentSummary;
}

async function openIfThere(open: OpenAgents, id: AgentId): Promise<AgentHandle | null> {
  try {
    return await open.open(id);
  } catch (error) {
    if (error instanceof BoxError && error.code === "gateway/agent-not-found") return null;
    throw error;
  }
}

/** An agent whose store can't be read is there all the same, and its owner must be able to get rid of it. */
function passDamage(error: unknown): undefined {
  if (!(error instanceof BoxError && error.code === "store/damaged")) throw error;
}

function moveIfThere(from: string, to: string): void {
  if (existsSync(from)) renameSync(from, to);
}

function trashFolder(dataRoot: string): string {
  return join(dataRoot, "trash");
}

/** Deletes what removed agents left behind. Safe at any time: nothing in the trash is named by a store. */
export function emptyTrash(dataRoot: string): void {
  let names: string[] = [];
  try {
    names = readdirSync(trashFolder(dataRoot));
  } catch {
    // No trash folder: nothing was ever removed here.
  }
  for (const name of names) rmSync(join(trashFolder(dataRoot), name), { recursive: true, force: true });
}
