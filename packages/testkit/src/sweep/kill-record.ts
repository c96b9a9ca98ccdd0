/** What is remembered of each kill, and how many kills add up to a histogram. */
import type { OpenTurnState } from "./read-stores.ts";

export interface KillRecord {
  /** `random`, `boot`, `daemon`, or the failpoint's name */
  readonly at: string;
  /** agents shown as running right before the kill; `null` when nobody could be asked, in a boot */
  readonly shownRunning: number | null;
  /** open turns in the stores right after the kill, each with what it was doing */
  readonly openTurns: readonly OpenTurnState[];
}

export type KillState = OpenTurnState | "idle";

/** A kill counts under the state in which most can go wrong. */
export function stateOfKill(kill: KillRecord): KillState {
  const order: readonly OpenTurnState[] = ["tool running", "model call", "between"];
  return order.find((state) => kill.openTurns.includes(state)) ?? "idle";
}

/** An open turn means: the roster said so before the kill, or the stores say so after a kill in a boot. */
export function hadOpenTurn(kill: KillRecord): boolean {
  return kill.shownRunning === null ? kill.openTurns.length > 0 : kill.shownRunning > 0;
}

export interface KillHistogram {
  readonly kills: number;
  readonly withOpenTurn: number;
  /** kills, each under its most exposed turn */
  readonly byState: Readonly<Record<KillState, number>>;
  /** open turns at the time of a kill, each under its own state; a kill meets several */
  readonly turnsByState: Readonly<Record<OpenTurnState, number>>;
  readonly byPlace: Readonly<Record<string, number>>;
}

export function tallyKills(kills: readonly KillRecord[]): KillHistogram {
  const byState = { "model call": 0, "tool running": 0, between: 0, idle: 0 };
  const turnsByState = { "model call": 0, "tool running": 0, between: 0 };
  const byPlace: Record<string, number> = {};
  for (const kill of kills) {
    byState[stateOfKill(kill)] += 1;
    for (const state of kill.openTurns) turnsByState[state] += 1;
    byPlace[kill.at] = (byPlace[kill.at] ?? 0) + 1;
  }
  return {
    kills: kills.length,
    withOpenTurn: kills.filter(hadOpenTurn).length,
    byState,
    turnsByState,
    byPlace,
  };
}

export function formatHistogram(histogram: KillHistogram): string {
  const share = histogram.kills === 0 ? 0 : Math.round((100 * histogram.withOpenTurn) / histogram.kills);
  const bars = (rows: Readonly<Record<string, number>>) =>
    Object.entries(rows).map(
      ([name, count]) =>
        `  ${name.padEnd(22)} ${String(count).padStart(4)} ${"#".repeat(Math.min(count, 60))}`,
    );
  return [
    `${histogram.kills} kills, ${histogram.withOpenTurn} with an open turn (${share} %)`,
    "what the most exposed turn was doing:",
    ...bars(histogram.byState),
    "what all open turns were doing:",
    ...bars(histogram.turnsByState),
    "where:",
    ...bars(histogram.byPlace),
  ].join("\n");
}
