/**
 * One opened agent: its store, its profile and the view of its open turn.
 *
 * Every change of the agent goes through `commit`, so that the three things that follow a commit happen in one place
 * and in this order: the view of the open turn is folded from the committed records (memory never runs ahead of the
 * store), the roster row is emitted when it changed, and the host's index is told.
 */
import {
  type AgentReads,
  type AgentStore,
  type AgentTx,
  type HostIndex,
  reduceTurn,
  reduceTurnRecords,
  type TurnRecord,
  type TurnView,
} from "@sand/agent-core";
import {
  type AgentId,
  type AgentProfile,
  type AgentSummary,
  BoxError,
  type JsonObject,
  type TranscriptEntry,
  type TurnId,
} from "@sand/protocol";
import { type AgentSettings, readProfile, readSettings } from "./agent-files.ts";
import { appendEntry } from "./roster-state.ts";
import { summarizeAgent } from "./summarize-agent.ts";

export interface ChangeTx extends AgentTx {
  readonly agentId: AgentId;
  /** appends an entry and keeps the roster's view of it; emits a roster row at the end of the change */
  addEntry(entry: TranscriptEntry): void;
  /** emits a roster row at the end of the change */
  rosterChanged(): void;
}

export interface AgentHandle {
  readonly agentId: AgentId;
  readonly folder: string;
  readonly store: AgentStore;
  profile(): AgentProfile;
  setProfile(profile: AgentProfile): void;
  settings(): AgentSettings;
  setSettings(settings: AgentSettings): void;
  /** the open turn as committed, or `null` */
  turn(): TurnView | null;
  /** the turn that was open when the agent was opened: an earlier process began it */
  readonly inheritedTurnId: TurnId | null;
  /** resolves with the change's value when it is durable and published */
  commit<T>(change: (tx: ChangeTx) => T): Promise<T>;
  summary(): AgentSummary;
  /** asks the run of the open turn to end; set by the run, called after an interrupt is committed */
  onInterrupt: (() => void) | null;
  /** the agent is being deleted: no prompt is taken and no turn is opened any more */
  isRetired: boolean;
}

export interface AgentHandleDeps {
  readonly index: HostIndex;
  activeAgentId(): AgentId | null;
}

export interface OpenedAgent {
  readonly agentId: AgentId;
  readonly folder: string;
  readonly store: AgentStore;
}

/** Where the summary lies in the store, so that a lost index can be rebuilt from it. */
const summaryKey = "summary";

export function createAgentHandle(deps: AgentHandleDeps, opened: OpenedAgent): AgentHandle {
  const { agentId, folder, store } = opened;
  let settings: AgentSettings = readSettings(folder);
  let profile = readProfile(folder, agentId);
  let view = readOpenTurn(store);
  /** A commit that failed may be on disk all the same, so the view is read from there before it is used again. */
  let isDoubtful = false;

  function currentTurn(): TurnView | null {
    if (isDoubtful) view = readOpenTurn(store);
    isDoubtful = false;
    return view;
  }

  function summarize(reads: AgentReads): AgentSummary {
    const isActive = deps.activeAgentId() === agentId;
    return summarizeAgent({ agentId, folder, profile, settings, reads, isActive });
  }

  function emitRoster(tx: AgentTx): JsonObject {
    const agent = asJson(summarize(tx));
    tx.setValue(summaryKey, agent);
    tx.emit("agent-upserted", { agent, activeAgentId: deps.activeAgentId() });
    return agent;
  }

  async function transact<T>(change: (tx: AgentTx) => T): ReturnType<typeof store.transact<T>> {
    try {
      return await store.transact(change);
    } catch (error) {
      isDoubtful ||= error instanceof BoxError && error.code === "store/unavailable";
      throw error;
    }
  }

  async function commit<T>(change: (tx: ChangeTx) => T): Promise<T> {
    const { value } = await transact((tx) => {
      const journal: TurnRecord[] = [];
      let rosterIsOld = false;
      const changed = change({
        ...tx,
        agentId,
        appendRecord(fence, record) {
          tx.appendRecord(fence, record);
          journal.push(record);
        },
        addEntry(entry) {
          appendEntry(tx, entry, deps.activeAgentId() === agentId);
          rosterIsOld = entry.kind !== "tool-call" || rosterIsOld;
        },
        rosterChanged() {
          rosterIsOld = true;
        },
      });
      return { changed, journal, summary: rosterIsOld ? emitRoster(tx) : undefined };
    });
    view = isDoubtful ? currentTurn() : openOnly(foldRecords(view, value.journal));
    const { summary } = value;
    if (summary !== undefined)
      deps.index.putAgent({
        agentId,
        summary,
        lastSeq: store.read.lastSeq(),
        hasOpenTurn: view !== null,
      });
    return value.changed;
  }

  return {
    agentId,
    folder,
    store,
    profile: () => profile,
    setProfile(changed) {
      profile = changed;
    },
    settings: () => settings,
    setSettings(changed) {
      settings = changed;
    },
    turn: currentTurn,
    inheritedTurnId: view?.turnId ?? null,
    commit,
    summary: () => summarize(store.read),
    onInterrupt: null,
    isRetired: false,
  };
}

function readOpenTurn(store: AgentStore): TurnView | null {
  const open = store.read.openTurn();
  return open === undefined ? null : openOnly(reduceTurnRecords(store.read.records(open.turnId)) ?? null);
}

function foldRecords(view: TurnView | null, journal: readonly TurnRecord[]): TurnView | null {
  let folded = view;
  for (const record of journal) {
    // A change may settle one turn and open the next; the next one starts from nothing.
    folded = reduceTurn(record.kind === "turnStarted" ? undefined : (folded ?? undefined), record);
  }
  return folded;
}

function openOnly(view: TurnView | null): TurnView | null {
  return view === null || view.settled !== null ? null : view;
}

/** The plain JSON of a value whose fields are JSON; `undefined` fields fall away. */
export function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
