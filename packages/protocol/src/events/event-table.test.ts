import { expect, test } from "vitest";
import { wantsChannel } from "./event-table.ts";

const all: ReadonlySet<string> = new Set();

test("without a filter a stream gets the channels of the contract", () => {
  expect(["transcript", "agents", "agent-upserted"].map((channel) => wantsChannel(all, channel))).toEqual([
    true,
    true,
    true,
  ]);
});

test("without a filter a strict client sees none of our own channels", () => {
  expect(["turn", "turn-delta", "reset"].map((channel) => wantsChannel(all, channel))).toEqual([
    false,
    false,
    false,
  ]);
});

test("a filter gives exactly what it names", () => {
  const named = new Set(["turn-delta"]);
  expect(["turn-delta", "transcript"].map((channel) => wantsChannel(named, channel))).toEqual([true, false]);
});
