/** What meets an agent that is just being deleted: it waits, and then finds that the agent isn't there. */
import { fieldOf, listOf } from "@sand/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestHost, type TestHost } from "./turn-host.ts";

let host: TestHost;
beforeAll(async () => {
  host = await startTestHost({ script: { rules: [] } });
});
afterAll(() => host[Symbol.asyncDispose]());

const changes = [
  ["updateAgent", { profile: { name: "other", description: "" } }],
  ["setAgentNotificationsEnabled", { isEnabled: false }],
  ["setAgentUnread", { isUnread: true }],
] as const;

test.each(changes)(
  "a %s that meets a deletion is done before it, or finds no agent",
  async (command, body) => {
    const id = await host.createAgent("short-lived");
    const change = () => host.status(command, { id, ...body });
    const [before, deleted, ...after] = await Promise.all([
      change(),
      host.status("deleteAgent", { id }),
      ...Array.from({ length: 8 }, change),
    ]);
    expect([before, deleted]).toEqual([200, 200]);
    // An update of an agent that isn't there answers null.
    expect(after.filter((status) => status !== 200 && status !== 404)).toEqual([]);
  },
);

test("deletions that meet all succeed, and take the other agents of their list with them", async () => {
  const [first, second] = [await host.createAgent("first"), await host.createAgent("second")];
  const statuses = await Promise.all([
    host.status("deleteAgent", { id: first }),
    host.status("deleteAgent", { id: first }),
    host.status("deleteAgents", { ids: [first, second] }),
  ]);
  expect(statuses).toEqual([200, 200, 200]);
  const left = listOf(await host.call("listAgents", {})).map((agent) => fieldOf(agent, "id"));
  expect(left).not.toContain(first);
  expect(left).not.toContain(second);
});
