/**
 * The outside judge of a kill sweep. It imports nothing of the host, the store or the daemon: it compares what was
 * planned and acknowledged with what the journals, the model's log and the witness files say.
 *
 * Each rule returns its findings as sentences; no finding means that the rule held.
 */
import {
  allTurns,
  answerText,
  callsOf,
  countBy,
  intendedEffects,
  isDelivery,
  objectOf,
  promptIdOf,
  resultsOf,
  settledCalls,
} from "./journal-view.ts";
import type { AgentEvidence, SweepEvidence } from "./sweep-evidence.ts";
import { answerOfPrompt, type PlannedPrompt, textOfPrompt } from "./work-plan.ts";

export type SweepRule =
  | "prompts lost"
  | "duplicate turns"
  | "doubled effects"
  | "lost effects"
  | "invented effects"
  | "unpaired calls"
  | "unsettled turns"
  | "wrong outcomes"
  | "model calls without intent"
  | "wrong transcripts"
  | "broken event log"
  | "unfinished executions"
  | "client findings"
  | "left processes";

export type SweepVerdict = Readonly<Record<SweepRule, readonly string[]>>;

export function checkSweep(evidence: SweepEvidence): SweepVerdict {
  return {
    "prompts lost": findLostPrompts(evidence),
    "duplicate turns": findDuplicateTurns(evidence),
    "doubled effects": Object.entries(evidence.effects)
      .filter(([, count]) => count > 1)
      .map(([effect, count]) => `${effect} happened ${count} times`),
    "lost effects": findLostEffects(evidence),
    "invented effects": findInventedEffects(evidence),
    "unpaired calls": findUnpairedCalls(evidence),
    "unsettled turns": findUnsettledTurns(evidence),
    "wrong outcomes": findWrongOutcomes(evidence),
    "model calls without intent": findUnintendedModelCalls(evidence),
    "wrong transcripts": evidence.agents.flatMap((agent) => findWrongEntries(agent, evidence)),
    "broken event log": evidence.agents.flatMap(findBrokenEvents),
    "unfinished executions": (evidence.executions ?? [])
      .filter((execution) => !execution.hasExit)
      .map((execution) => `${execution.executionId} has no exit record`),
    "client findings": evidence.clientFindings,
    "left processes": evidence.leftProcesses,
  };
}

export function countFindings(verdict: SweepVerdict): number {
  return Object.values(verdict).reduce((sum, findings) => sum + findings.length, 0);
}

function findLostPrompts(evidence: SweepEvidence): readonly string[] {
  return evidence.accepted.flatMap(({ nonce, agentId }) => {
    const findings: string[] = [];
    if (evidence.statuses[nonce] !== "found")
      findings.push(`${nonce} is answered ${evidence.statuses[nonce]}`);
    const agent = evidence.agents.find((one) => one.agentId === agentId);
    const row = agent?.prompts.find((prompt) => prompt.nonce === nonce);
    if (row === undefined) findings.push(`${nonce} has no row in the ledger of ${agentId}`);
    else if (row.turnId === null) findings.push(`${nonce} was delivered in no turn`);
    return findings;
  });
}

/** Each ledger row belongs to one planned prompt, is delivered once, and stands once in each request's history. */
function findDuplicateTurns(evidence: SweepEvidence): readonly string[] {
  const planned = new Map(evidence.plan.prompts.map((prompt) => [prompt.nonce, prompt]));
  const findings: string[] = [];
  const rows = evidence.agents.flatMap((agent) => agent.prompts);
  for (const [nonce, count] of countBy(rows.map((row) => row.nonce))) {
    if (count > 1) findings.push(`${nonce} has ${count} rows`);
    if (!planned.has(nonce)) findings.push(`${nonce} was never sent`);
  }
  const deliveries = evidence.agents.flatMap((agent) =>
    agent.turns.flatMap((turn) => turn.records.filter(isDelivery).map(promptIdOf)),
  );
  for (const [promptId, count] of countBy(deliveries)) {
    if (count > 1) findings.push(`prompt ${promptId} was delivered ${count} times`);
  }
  for (const call of evidence.modelCalls) {
    for (const [text, count] of countBy(call.userTexts)) {
      if (count > 1) findings.push(`a request holds the prompt ${text} ${count} times`);
    }
  }
  findings.push(...findDuplicateAgents(evidence));
  return [...new Set(findings)];
}

function findDuplicateAgents(evidence: SweepEvidence): readonly string[] {
  const created = evidence.createdAgents.map((ids) => new Set(ids));
  const findings = created
    .filter((ids) => ids.size > 1)
    .map((ids) => `one creation made ${[...ids].join(", ")}`);
  const known = new Set(evidence.createdAgents.flat());
  const invented = evidence.agents.filter((agent) => !known.has(agent.agentId));
  return [...findings, ...invented.map((agent) => `agent ${agent.agentId} was never asked for`)];
}

/** A call whose result says that it ran has left its effect, and a turn that succeeded ran all that it was told. */
function findLostEffects(evidence: SweepEvidence): readonly string[] {
  const missing = (effect: string) => (evidence.effects[effect] ?? 0) === 0;
  const calls = settledCalls(evidence);
  const reported = calls
    .filter(({ settled, effect }) => settled.outcome === "ok" && missing(effect))
    .map(({ effect }) => `${effect} is reported as done and isn't`);
  const unknown = new Set(
    calls
      .filter(({ settled }) => evidence.mayBeUnknown && settled.outcome === "unknown")
      .map(({ effect }) => effect),
  );
  const planned = uncutPrompts(evidence)
    .flatMap((prompt) => prompt.steps.flat())
    .filter(({ effect }) => missing(effect) && !unknown.has(effect))
    .map(({ effect }) => `${effect} never happened`);
  return [...new Set([...reported, ...planned])];
}

/** Every effect follows from a call that was recorded with its intent before it. */
function findInventedEffects(evidence: SweepEvidence): readonly string[] {
  const intended = new Set(intendedEffects(evidence));
  return Object.keys(evidence.effects)
    .filter((effect) => !intended.has(effect))
    .map((effect) => `${effect} happened without an intent`);
}

function findUnpairedCalls(evidence: SweepEvidence): readonly string[] {
  const inRequests = evidence.modelCalls.flatMap((call) => call.violations);
  const inJournals = allTurns(evidence)
    .filter((turn) => turn.outcome === "success")
    .flatMap((turn) => {
      const settled = new Map(countBy(resultsOf(turn).map((result) => result.callId)));
      return callsOf(turn)
        .filter((call) => settled.get(call.callId) !== 1)
        .map((call) => `call ${call.callId} has ${settled.get(call.callId) ?? 0} results`);
    });
  return [...inRequests, ...inJournals];
}

function findUnsettledTurns(evidence: SweepEvidence): readonly string[] {
  const open = allTurns(evidence).filter((turn) => turn.state !== "settled");
  const endings = allTurns(evidence).filter(
    (turn) => turn.records.filter((record) => record.kind === "turnSettled").length !== 1,
  );
  const running = evidence.agents.filter((agent) => agent.isRunning);
  return [
    ...open.map((turn) => `turn ${turn.turnId} is ${turn.state}`),
    ...endings.map((turn) => `turn ${turn.turnId} has not exactly one end`),
    ...running.map((agent) => `agent ${agent.agentId} is shown as running`),
  ];
}

/** Nobody asked for an error: turns succeed, or are aborted because somebody interrupted them. */
function findWrongOutcomes(evidence: SweepEvidence): readonly string[] {
  const turns = allTurns(evidence).flatMap((turn) => {
    if (turn.outcome === "success") return [];
    const wasInterrupted = turn.records.some((record) => record.kind === "interruptRequested");
    if (turn.outcome === "aborted" && wasInterrupted) return [];
    const end = turn.records.find((record) => record.kind === "turnSettled");
    return [`turn ${turn.turnId} ended as ${turn.outcome}: ${JSON.stringify(end?.body ?? null)}`];
  });
  const calls = settledCalls(evidence)
    .filter(({ settled }) => !(evidence.mayBeUnknown && settled.outcome === "unknown"))
    .filter(({ settled }) => settled.outcome !== "ok" && settled.outcome !== "interrupted")
    .map(({ settled, effect }) => `${effect} ended as ${settled.outcome}: ${settled.text}`);
  return [...turns, ...calls];
}

/** Record before effect: a model call that no journal intended is a call that nobody can account for. */
function findUnintendedModelCalls(evidence: SweepEvidence): readonly string[] {
  const intents = allTurns(evidence).flatMap((turn) =>
    turn.records.filter((record) => record.kind === "stepPrepared"),
  );
  const calls = evidence.modelCalls.length;
  return calls > intents.length ? [`${calls} model calls for ${intents.length} intents`] : [];
}

function findWrongEntries(agent: AgentEvidence, evidence: SweepEvidence): readonly string[] {
  const findings: string[] = [];
  for (const [id, count] of countBy(agent.entries.map((entry) => String(entry.id)))) {
    if (count > 1) findings.push(`entry ${id} stands ${count} times`);
  }
  const contents = countBy(
    agent.entries.filter((entry) => entry.kind === "message").map((entry) => String(entry.content)),
  );
  const accepted = new Set(
    evidence.accepted.filter((one) => one.agentId === agent.agentId).map((one) => one.nonce),
  );
  for (const prompt of evidence.plan.prompts.filter((one) => accepted.has(one.nonce))) {
    const count = contents.get(textOfPrompt(prompt)) ?? 0;
    if (count !== 1) findings.push(`the message of ${prompt.nonce} stands ${count} times`);
  }
  const answers = countBy(agent.entries.filter((entry) => entry.kind === "send-message").map(answerText));
  for (const prompt of uncutPrompts(evidence).filter((one) => accepted.has(one.nonce))) {
    const count = answers.get(answerOfPrompt(prompt)) ?? 0;
    if (count !== 1) findings.push(`the answer to ${prompt.nonce} stands ${count} times`);
  }
  for (const entry of agent.entries) {
    if (entry.kind === "tool-call" && (entry.status === "pending" || entry.status === "running"))
      findings.push(`tool call ${String(entry.id)} is left ${entry.status}`);
  }
  return findings;
}

function findBrokenEvents(agent: AgentEvidence): readonly string[] {
  const seqs = agent.eventSeqs;
  return seqs.flatMap((seq, at) =>
    at > 0 && seq <= (seqs[at - 1] ?? 0) ? [`event ${seq} is out of order`] : [],
  );
}

/** The prompts whose script must have run to its end: the last one delivered in a turn that succeeded. */
function uncutPrompts(evidence: SweepEvidence): readonly PlannedPrompt[] {
  const byText = new Map(evidence.plan.prompts.map((prompt) => [textOfPrompt(prompt), prompt]));
  return allTurns(evidence).flatMap((turn) => {
    if (turn.outcome !== "success") return [];
    const last = turn.records.filter(isDelivery).at(-1);
    const prompt = last === undefined ? undefined : byText.get(String(objectOf(last.body.prompt).text));
    return prompt === undefined ? [] : [prompt];
  });
}
