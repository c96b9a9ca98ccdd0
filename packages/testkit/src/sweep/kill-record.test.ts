import { expect, test } from "vitest";
import { type KillRecord, tallyKills } from "./kill-record.ts";

const kills: readonly KillRecord[] = [
  { at: "random", shownRunning: 2, openTurns: ["model call", "tool running"] },
  { at: "random", shownRunning: 0, openTurns: [] },
  { at: "boot", shownRunning: null, openTurns: ["between"] },
  { at: "boot", shownRunning: null, openTurns: [] },
];

test("a kill counts under its most exposed turn, and as open by what could be known before or right after it", () => {
  expect(tallyKills(kills)).toEqual({
    kills: 4,
    withOpenTurn: 2,
    byState: { "model call": 0, "tool running": 1, between: 1, idle: 2 },
    turnsByState: { "model call": 1, "tool running": 1, between: 1 },
    byPlace: { random: 2, boot: 2 },
  });
});
