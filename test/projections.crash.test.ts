/**
 * A host that dies while its thread of projections writes: the next one goes on, and what comes of it is what a rebuild
 * from nothing gives, byte for byte.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callGateway, fieldOf, listOf, textOf, waitUntil } from "../packages/testkit/src/index.ts";
import {
  createWorld,
  findBundles,
  projectionFailpoints,
  type SandWorld,
} from "../packages/testkit/src/proofs/door.ts";

const deadlineMs = 120_000;
const agents = 3;

type Ready = Awaited<ReturnType<SandWorld["startHost"]>>;

/** Nothing, when the host is gone. */
async function ask(host: Ready, command: string, body: unknown): Promise<unknown> {
  const reply = await callGateway(host.access, command, body);
  return reply.kind === "answered" && reply.status === 200 ? reply.body : undefined;
}

async function makeAgents(host: Ready): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let made = 0; made < agents; made += 1) {
    const answer = await ask(host, "createAgent", { name: `agent ${made}`, description: "" });
    ids.push(textOf(fieldOf(fieldOf(answer, "agent"), "id")));
  }
  return ids;
}

/** Talks to the agents until the host has died at its failpoint. */
async function talkUntilDead(host: Ready, ids: readonly string[]): Promise<void> {
  await waitUntil(
    "the host's death",
    async () => {
      for (const agentId of ids)
        await ask(host, "sendPrompt", { agentId, prompt: "tell me of the lighthouse" });
      // A search brings forward what would otherwise wait for a quiet time.
      await ask(host, "searchAgents", { query: "lighthouse", limit: 1 });
      return host.process.exit() !== undefined;
    },
    { deadlineMs },
  );
  expect((await host.process.exited).signal).toBe("SIGKILL");
}

/** Waits until nothing runs and all is projected. */
async function whenWhole(host: Ready, world: SandWorld): Promise<void> {
  await waitUntil(
    "all of it in the projections",
    async () => {
      const rows = listOf(await ask(host, "listAgents", {}));
      if (rows.length !== agents || rows.some((row) => fieldOf(row, "isRunning") === true)) return false;
      // A search brings forward what is behind.
      await ask(host, "searchAgents", { query: "lighthouse", limit: 1 });
      return rows.every((row) => isJournaled(world, textOf(fieldOf(row, "id")))) && (await isReady(host));
    },
    { deadlineMs },
  );
}

async function isReady(host: Ready): Promise<boolean> {
  return fieldOf(await ask(host, "getSearchStatus", {}), "state") === "ready";
}

function journalOf(world: SandWorld, agentId: string): string {
  try {
    return readFileSync(join(world.dataRoot, "agent-transcripts", agentId, `${agentId}.jsonl`), "utf8");
  } catch {
    // Not made yet: the caller looks again.
    return "";
  }
}

/** Each prompt that was delivered has its turn's end. */
function isJournaled(world: SandWorld, agentId: string): boolean {
  const lines = journalOf(world, agentId).trimEnd().split("\n");
  return lines.at(-1)?.includes("turn_ended") === true;
}

async function everything(host: Ready, world: SandWorld, ids: readonly string[]) {
  const hits = await ask(host, "searchAgents", { query: "lighthouse", limit: 500 });
  return { hits, journals: ids.map((agentId) => journalOf(world, agentId)) };
}

test("a host that dies at each place of a projection leaves nothing out and nothing twice", {
  timeout: 600_000,
}, async () => {
  await using world = await createWorld({
    ...{ label: "projections", bundles: findBundles("test"), sandbox: "off" },
  });
  await world.startDaemon();
  let ids: readonly string[] = [];
  for (const [round, name] of [...projectionFailpoints, ...projectionFailpoints].entries()) {
    const hit = round < projectionFailpoints.length ? 1 : 4;
    const host = await world.startHost({ env: { SAND_FAILPOINT: `${name}:${hit}` } });
    if (ids.length === 0) ids = await makeAgents(host);
    await talkUntilDead(host, ids);
  }
  const survivor = await world.startHost();
  await whenWhole(survivor, world);
  const grown = await everything(survivor, world, ids);
  expect(listOf(grown.hits).length).toBeGreaterThan(agents);
  await survivor.process.end();
  for (const name of ["search-index.db", "search-index.db-wal", "search-index.db-shm", "agent-transcripts"])
    rmSync(join(world.dataRoot, name), { recursive: true, force: true });
  const fresh = await world.startHost();
  await whenWhole(fresh, world);
  expect(await everything(fresh, world, ids)).toEqual(grown);
});
