/** When the thread of projections runs: a program of the test plays its role, and writes down what it hears. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLogger } from "@sand/node-kit";
import { type AgentId, BoxError, brandId } from "@sand/protocol";
import { createTempFolder, waitUntil } from "@sand/testkit";
import { expect, test } from "vitest";
import { projectionTiming } from "../src/projections/projection-timing.ts";
import { createProjections } from "../src/projections/projections.ts";

const ada = brandId<AgentId>("ada");
const hit = { agentId: ada, entryId: "e", role: "user", timestampMs: 1, snippet: "s" };
const gone = { ...hit, agentId: "nobody" };

const program = `
const { appendFileSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const note = (text) => appendFileSync(workerData.root + "/heard.log", text + "\\n");
note("start");
parentPort.on("message", (request) => {
  note(request.kind);
  if (request.query === "die") process.exit(3);
  if (request.kind === "search") parentPort.postMessage({ kind: "hits", turn: request.turn, hits: ${JSON.stringify([hit, gone])} });
  if (request.kind === "forget") parentPort.postMessage({ kind: "forgotten", turn: request.turn });
  if (request.kind === "close") parentPort.close();
  else parentPort.postMessage({ kind: "idle" });
});
`;

async function createThreadWorld(timing: Partial<typeof projectionTiming>) {
  const folder = await createTempFolder("projections");
  const entry = join(folder.path, "thread.cjs");
  writeFileSync(entry, program);
  writeFileSync(join(folder.path, "heard.log"), "");
  const projections = createProjections({
    ...{ dataRoot: folder.path, entry, timing: { ...projectionTiming, ...timing } },
    logger: createLogger({ name: "test", level: "silent" }),
    agents: () => [{ agentId: ada, lastSeq: 1 }],
  });
  const heard = (): readonly string[] =>
    readFileSync(join(folder.path, "heard.log"), "utf8").trim().split("\n");
  return {
    projections,
    heard,
    whenHeard: (what: string) =>
      waitUntil(`the thread to hear ${what}`, () => heard().includes(what), { deadlineMs: 60_000 }),
    async [Symbol.asyncDispose]() {
      await projections.close();
      await folder.remove();
    },
  };
}

test("no thread runs before there is something to do, and one is enough", async () => {
  await using world = await createThreadWorld({});
  const { projections, heard } = world;
  projections.note(ada);
  expect(heard()).toEqual([""]);
  // Hits of agents that the roster doesn't know are left out.
  expect(await projections.searchMessages("a", 5)).toEqual([hit]);
  await projections.searchMessages("b", 5);
  expect(heard()).toEqual(["start", "project", "search", "search"]);
});

test("commits alone start it after a quiet time, and it ends when nothing is to do for a while", async () => {
  await using world = await createThreadWorld({ quietColdMs: 10, idleMs: 10 });
  world.projections.note(ada);
  await world.whenHeard("close");
  expect(world.heard()).toEqual(["start", "project", "close"]);
  await world.projections.searchMessages("a", 5);
  expect(world.heard().slice(3)).toEqual(["start", "search"]);
});

test("a search that takes its thread along is told, and the next one has another thread", async () => {
  await using world = await createThreadWorld({ retryMs: 60_000 });
  const failure = await world.projections.searchMessages("die", 5).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(BoxError);
  expect(failure).toMatchObject({ code: "store/unavailable" });
  expect(world.projections.status().state).toBe("unavailable");
  expect(await world.projections.searchMessages("live", 5)).toEqual([hit]);
});

test("a thread that died is caught up with after a pause", async () => {
  await using world = await createThreadWorld({ retryMs: 10 });
  await world.projections.searchMessages("die", 5).catch(() => undefined);
  await world.whenHeard("catch-up");
  expect(world.heard()).toEqual(["start", "search", "start", "catch-up"]);
});

test("forgetting waits for a thread that may be writing, and for nothing when none runs", async () => {
  await using world = await createThreadWorld({});
  await world.projections.forget(ada);
  await world.whenHeard("forget");
  await world.projections.forget(ada);
  expect(world.heard()).toEqual(["start", "forget", "forget"]);
});

test("searches that wait are bounded, and none is answered after the end", async () => {
  await using world = await createThreadWorld({ searchesMax: 1 });
  const { projections } = world;
  const first = projections.searchMessages("a", 5);
  await expect(projections.searchMessages("b", 5)).rejects.toMatchObject({ code: "host/overloaded" });
  expect(await first).toEqual([hit]);
  await projections.close();
  await expect(projections.searchMessages("c", 5)).rejects.toMatchObject({ code: "host/shutting-down" });
});
