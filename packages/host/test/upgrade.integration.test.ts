import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fieldOf, waitUntil } from "@sand/testkit";
import { judgeMarkers, readMarkers } from "@sand/testkit/proofs";
import { expect, test } from "vitest";
import { startTestHost, type TestHost } from "./turn-host.ts";

const shell = (command: string) => ({ name: "Shell", args: { command } });
const waitFor = (file: string) => `for i in $(seq 600); do [ -e ${file} ] && break; sleep 0.05; done`;

async function prepare({ access }: TestHost, query = ""): Promise<unknown> {
  const { url, token } = access();
  const response = await fetch(`${url}/prepare-upgrade${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  return await response.json();
}

test("an idle host is prepared at once, and a prompt that comes then is accepted and run by the next host", async () => {
  await using host = await startTestHost({ script: { rules: [], otherwise: { text: "later" } } });
  const agent = await host.createAgent("ann");
  expect(await prepare(host)).toEqual({ quiescing: false, runningTurns: 0 });
  expect(await prepare(host, "?details=1")).toMatchObject({ phase: "prepared", turns: [] });
  await host.send(agent, "go");
  expect(await host.call("listAgents", {})).toMatchObject([{ id: agent, isRunning: true }]);
  expect(host.model.requestCount).toBe(0);
  expect(existsSync(join(host.dataRoot, "upgrade.json"))).toBe(true);
  await host.restart();
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "answer:later"]);
  expect(existsSync(join(host.dataRoot, "upgrade.json"))).toBe(false);
  const facts = readMarkers(host.dataRoot);
  expect({ left: facts.left.length, used: facts.used.length }).toEqual({ left: 1, used: 1 });
});

test("a command goes on over an upgrade, its turn goes on by its marker, and nothing is done twice", async () => {
  const command = `echo ran >> witness; echo begun > begun; ${waitFor("go-on")}; echo end`;
  await using host = await startTestHost({
    script: { rules: [{ when: "go", steps: [{ calls: [shell(command)] }, { text: "all done" }] }] },
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "go");
  await waitUntil("the command to run", () => existsSync(join(host.workspace, "begun")), {
    deadlineMs: 30_000,
  });
  const answer = await waitUntil(
    "the host to be prepared",
    async () => {
      const said = await prepare(host, "?details=1");
      return fieldOf(said, "quiescing") === false ? said : undefined;
    },
    { deadlineMs: 30_000 },
  );
  expect(answer).toMatchObject({ runningTurns: 0, phase: "prepared", turns: [{ agentId: agent }] });
  await host.restart();
  writeFileSync(join(host.workspace, "go-on"), "");
  await host.whenIdle(agent);
  expect(await host.lines(agent)).toEqual(["user:go", "tool:Shell:completed", "answer:all done"]);
  expect(host.file("witness")).toBe("ran\n");
  const facts = readMarkers(host.dataRoot);
  expect(judgeMarkers(facts, false)).toEqual([]);
  expect(facts.used).toHaveLength(1);
});

test("without a bearer nothing is prepared", async () => {
  await using host = await startTestHost({ script: { rules: [], otherwise: { text: "ok" } } });
  const response = await fetch(`${host.access().url}/prepare-upgrade`, { method: "POST" });
  expect(response.status).toBe(401);
  expect(existsSync(join(host.dataRoot, "upgrade.json"))).toBe(false);
});
