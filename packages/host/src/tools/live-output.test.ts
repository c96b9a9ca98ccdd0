import { expect, test } from "vitest";
import { liveBurstMaxBytes, liveBytesPerSecond } from "./limits.ts";
import { createLiveOutput } from "./live-output.ts";

test("a burst is shown, a flood is thinned, and what was left out is said once it goes on", () => {
  let nowMs = 0;
  const shown: string[] = [];
  const live = createLiveOutput({ nowMs: () => nowMs }, (text) => shown.push(text));
  live.show("first\n");
  for (let round = 0; round < 100; round += 1) live.show("x".repeat(10_000));
  const hidden = 6 + 1_000_000 - liveBurstMaxBytes;
  expect(shown.join("").length).toBe(liveBurstMaxBytes);
  nowMs += 1_000;
  live.show("later\n");
  expect(shown.at(-1)).toBe(`\n[${hidden} bytes not shown live]\nlater\n`);
  live.show("y".repeat(1_000_000));
  expect(shown.at(-1)?.length).toBe(liveBytesPerSecond - 6);
});
