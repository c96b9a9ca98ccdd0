/**
 * Makes projections on a file system that is too small for them, then with more space, then anew; and prints what came
 * of it. Run as a process of its own in a mount namespace of its own, which takes the file system along when it ends.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { AgentStore } from "@sand/agent-core";
import { createLogger } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import { createSeqAllocator, openAgentStore } from "../src/index.ts";
import { journalPath } from "../src/projections/journal-file.ts";
import type { ProjectionReply } from "../src/projections/projection-messages.ts";
import { createProjector } from "../src/projections/projector.ts";
import { converse } from "./projection-rig.ts";
import { turnRow } from "./store-rig.ts";

const [, , root = "", smallKb = ""] = process.argv;
const data = join(root, "data");
const ada = brandId<AgentId>("ada");

function mount(...options: readonly string[]): void {
  const { status, stderr } = spawnSync("mount", [...options, "-t", "tmpfs", "sand-test", data], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`mount: ${stderr}`);
}

/** Much that only a journal holds, so that the index fits where the journal doesn't. */
async function callTools(store: AgentStore, generation: number): Promise<void> {
  const fence = { turnId: turnRow(generation).turnId, generation };
  for (let call = 0; call < 40; call += 1) {
    const result = {
      callId: brandId<never>(`c-${call}`),
      outcome: "ok",
      outputHandle: null,
      details: {},
    } as const;
    const text = `${call} `.repeat(15_000);
    await store.transact((tx) => {
      if (call === 0) tx.insertTurn(turnRow(generation));
      tx.appendRecord(fence, { kind: "toolSettled", result: { ...result, text }, atMs: 1 });
    });
  }
}

function projectAll() {
  const said: ProjectionReply[] = [];
  const projector = createProjector({ root: data, say: (reply) => void said.push(reply), nowMs: () => 1 });
  projector.receive({ kind: "catch-up", agents: [{ agentId: ada, lastSeq: 1 }] });
  for (let chunk = 0; chunk < 10_000 && projector.step(); chunk += 1);
  projector.receive({ kind: "search", of: "messages", turn: 1, query: "question", limit: 500 });
  projector.close();
  const path = journalPath(data, ada);
  const journal = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const hits = said.findLast((reply) => reply.kind === "hits");
  return {
    failures: said.flatMap((reply) => ("error" in reply ? [`${reply.kind} ${reply.error.code}`] : [])),
    journalBytes: journal.length,
    journalDigest: createHash("sha256").update(journal).digest("hex"),
    endsWhole: journal.length === 0 || journal.at(-1) === 10,
    hits: hits?.kind === "hits" ? hits.hits.length : -1,
  };
}

mkdirSync(data, { mode: 0o700 });
mount("-o", `size=${smallKb}k`);
mkdirSync(join(root, "agents"), { mode: 0o700 });
symlinkSync(join(root, "agents"), join(data, "agents"));
const store = openAgentStore({
  directory: join(root, "agents/ada"),
  agentId: ada,
  seq: createSeqAllocator({ reservedThrough: 0, reserve: () => {} }),
  onCommitted: () => {},
  logger: createLogger({ name: "test", level: "silent" }),
});
for (let turn = 1; turn <= 20; turn += 1) await converse(store, turn, `question ${turn}`, "an answer");
await callTools(store, 21);
const full = projectAll();
mount("-o", "remount,size=64m");
const withSpace = projectAll();
for (const name of ["search-index.db", "search-index.db-wal", "search-index.db-shm", "agent-transcripts"])
  rmSync(join(data, name), { recursive: true, force: true });
const anew = projectAll();
await store.close();
process.stdout.write(JSON.stringify({ full, withSpace, anew }));
