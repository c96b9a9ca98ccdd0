/** Replays turns of a data root, whether its host runs or not, and turns in files. */
import { readFileSync, statSync } from "node:fs";
import { writeFileAtomicSync } from "@sand/node-kit";
import { BoxError, brandId, type TurnId } from "@sand/protocol";
import { openAgentReading } from "@sand/store/archives";
import type { OfflineCall, OfflineReply } from "@sand/store/offline";
import { createJournalReader, type JournalReader } from "../replay/read-journals.ts";
import { replayTurn } from "../replay/replay-turn.ts";
import { createRequestChecks } from "../replay/request-checks.ts";
import { fixtureMaxChars, makeFixture, readFixture } from "../replay/turn-fixture.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import { type FoundAgent, findAgent, listAgents } from "./find-agent.ts";

type Tell = (reply: OfflineReply) => void;

export function replayStored(call: Extract<OfflineCall, { kind: "replay" }>, tell: Tell): OfflineReply {
  const { root, agent, turnId } = call;
  if (turnId !== null)
    return withTurn(root, agent, turnId, ({ agentId }, reader, journal) =>
      replayAll(agentId, reader, [journal], tell),
    );
  const found = findAgent(root, agent ?? "");
  return withReader(found, (reader) => replayAll(found.agentId, reader, reader.all(), tell));
}

function replayAll(
  agentId: string,
  source: Pick<JournalReader, "part" | "history">,
  journals: Iterable<TurnJournal>,
  tell: Tell,
): OfflineReply {
  const checks = createRequestChecks(source);
  let turns = 0;
  let diverged = 0;
  let records = 0;
  for (const journal of journals) {
    const replay = replayTurn(journal, checks);
    turns += 1;
    records += journal.records.length;
    if (replay.kind === "diverged") diverged += 1;
    tell({ kind: "turn", agentId, replay });
  }
  return { kind: "replayed", turns, diverged, records };
}

export function replayFixture(file: string, tell: Tell): OfflineReply {
  if (statSync(file).size > fixtureMaxChars)
    throw new BoxError("archive/refused", `${file} is too large for the fixture of a turn`);
  const { journal, source } = readFixture(readFileSync(file, "utf8"));
  return replayAll(journal.agentId, source, [journal], tell);
}

export function exportTurn(call: Extract<OfflineCall, { kind: "export-turn" }>): OfflineReply {
  const { root, agent, turnId, file } = call;
  return withTurn(root, agent, turnId, ({ agentId }, reader, journal) => {
    const text = makeFixture(journal, reader);
    writeFileAtomicSync(file, text, { mode: 0o600 });
    return { kind: "exported-turn", agentId, file, bytes: Buffer.byteLength(text) };
  });
}

function withTurn(
  root: string,
  agent: string | null,
  turnId: string,
  use: (found: FoundAgent, reader: JournalReader, journal: TurnJournal) => OfflineReply,
): OfflineReply {
  for (const found of agent === null ? listAgents(root) : [findAgent(root, agent)]) {
    const answer = withReader(found, (reader) => {
      const journal = reader.find(brandId<TurnId>(turnId));
      return journal === undefined ? undefined : use(found, reader, journal);
    });
    if (answer !== undefined) return answer;
  }
  throw new BoxError("turn/not-found", `no agent has a turn ${JSON.stringify(turnId)}`, {
    hint: "events and tool calls name their turn: sand transcript <agent> --json",
  });
}

function withReader<T>({ folder, agentId }: FoundAgent, use: (reader: JournalReader) => T): T {
  using reading = openAgentReading(folder);
  return use(createJournalReader(agentId, reading));
}
