/** A short run that is told with the answer to its start. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { gather, joinOutput, kindsOf, shell, startTestDaemon, type TestDaemon } from "./daemon-process.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

/** as long as the daemon lets a start wait */
const settleMs = 1_000;

/** On a loaded machine even a short run may take longer than a start may wait; its repeat then finds it ended. */
async function startUntilTold(processId: string, text: string) {
  for (let tries = 0; ; tries += 1) {
    const answer = await daemon.processes.start({ ...shell(processId, text), settleMs });
    if (answer.events.length > 0 || tries === 20) return answer;
  }
}

test("a run that ends within the wait is told whole, as a reader would be told it", async () => {
  const { events } = await startUntilTold("short", "echo out; echo err >&2; exit 3");
  const read = await gather(daemon, "short");
  expect(events).toEqual(read.events);
  expect(kindsOf(events)).toContain("closed");
  expect(joinOutput(events, 1).toString()).toBe("out\n");
});

test("a run that goes on, one that printed much, and one that nobody waits for are told nothing of", async () => {
  const running = await daemon.processes.start({
    ...shell("long", "read line < fifo-that-is-not; sleep 20"),
    settleMs: 50,
  });
  expect(running.events).toEqual([]);
  await daemon.processes.signal({ processId: "long", name: "SIGKILL", scope: 3 });
  await daemon.processes.start(shell("much", "seq 1 40000"));
  await gather(daemon, "much");
  const much = await daemon.processes.start({ ...shell("much", "seq 1 40000"), settleMs });
  expect(much).toMatchObject({ existing: true, events: [] });
  await startUntilTold("quiet", "true");
  expect((await daemon.processes.start(shell("quiet", "true"))).events).toEqual([]);
});

test("the wait is no part of what tells a repeat from a conflict", async () => {
  await daemon.processes.start({ ...shell("same", "true"), settleMs: 1 });
  expect((await daemon.processes.start({ ...shell("same", "true"), settleMs: 2 })).existing).toBe(true);
  expect((await daemon.processes.start(shell("same", "true"))).existing).toBe(true);
});
