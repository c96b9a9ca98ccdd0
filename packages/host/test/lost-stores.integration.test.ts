/** An agent whose conversation is lost says so. It is never shown as one that has none. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestHost } from "./turn-host.ts";

test("an agent whose store was emptied is damaged after the next start, and others go on", async () => {
  await using host = await startTestHost({ script: { rules: [], otherwise: { text: "ok" } } });
  const [lost, other] = [await host.createAgent("ann"), await host.createAgent("bob")];
  await host.ask(lost, "hi", { clientNonce: "n-1" });
  await host.restart(() => writeFileSync(join(host.dataRoot, "agents", lost, "store.db"), ""));
  expect(await host.status("getAgentTranscriptTail", { id: lost })).toBe(503);
  expect(await host.status("sendPrompt", { agentId: lost, prompt: "hi", clientNonce: "n-1" })).toBe(503);
  await host.ask(other, "hi");
  expect(await host.lines(other)).toEqual(["user:hi", "answer:ok"]);
});
