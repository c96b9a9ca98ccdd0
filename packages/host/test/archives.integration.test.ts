import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { BoxError } from "@sand/protocol";
import { callOffline, type OfflineCall } from "@sand/store/offline";
import { fieldOf, listOf, textOf, waitUntil } from "@sand/testkit";
import type { ModelScript } from "@sand/testkit/model-server";
import { expect, test } from "vitest";
import { startTestHost, type TestHost } from "./turn-host.ts";

const program = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const script: ModelScript = {
  rules: [
    { when: "go", steps: [{ calls: [{ name: "Shell", args: { command: "echo made" } }] }, { text: "done" }] },
    {
      when: "hang",
      steps: [{ calls: [{ name: "Shell", args: { command: "sleep 300" } }] }, { text: "never" }],
    },
  ],
  otherwise: { text: "ok" },
};

const environment = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" };

async function offline(host: TestHost, call: OfflineCall) {
  return await callOffline({ program, env: environment, cwd: host.workspace }, call);
}

async function exportAgent(host: TestHost, agent: string, name: string) {
  const file = join(host.workspace, name);
  const answer = await offline(host, { kind: "export-agent", root: host.dataRoot, agent, file });
  if (answer.kind !== "exported") throw new Error(answer.kind);
  return { file, facts: answer.facts };
}

async function importAgent(host: TestHost, file: string, name: string | null = null) {
  const answer = await offline(host, { kind: "import-agent", root: host.dataRoot, file, name });
  if (answer.kind !== "imported") throw new Error(answer.kind);
  return answer;
}

async function rosterOf(host: TestHost): Promise<readonly string[]> {
  return listOf(await host.call("listAgents", {})).map((row) => textOf(fieldOf(row, "name")));
}

test("an agent goes through an archive into another host under a new id, and its content has the same hash", async () => {
  const large = "x".repeat(200_000);
  await using source = await startTestHost({ script });
  const agent = await source.createAgent("ann");
  await source.ask(agent, "go");
  await source.ask(agent, large);
  writeFileSync(join(source.dataRoot, "agents", agent, "notes.md"), "to be remembered\n");
  const { file, facts } = await exportAgent(source, agent, "ann.sand");
  const lines = await source.lines(agent);

  await using target = await startTestHost({ script });
  const first = await target.createAgent("bob");
  await target.ask(first, "hello");
  const imported = await importAgent(target, file, "ann again");
  expect(imported.facts).toEqual({ ...facts, agentId: agent });
  expect(imported.agentId).not.toBe(agent);
  // The running host takes it up when it is asked for it, and goes on above its numbers.
  await target.call("setAgentUnread", { id: imported.agentId, isUnread: false });
  expect(await rosterOf(target)).toEqual(["bob", "ann again"]);
  expect(await target.lines(imported.agentId)).toEqual(lines);
  await target.ask(imported.agentId, "go");
  expect((await target.lines(imported.agentId)).slice(lines.length)).toEqual([
    "user:go",
    "tool:Shell:completed",
    "answer:done",
  ]);
  const folder = join(target.dataRoot, "agents", imported.agentId);
  expect(readFileSync(join(folder, "notes.md"), "utf8")).toBe("to be remembered\n");
  const replayed = await offline(target, {
    kind: "replay",
    root: target.dataRoot,
    turnId: null,
    agent: imported.agentId,
  });
  expect(replayed).toEqual({ kind: "replayed", turns: 3, diverged: 0, records: facts.records + 10 });

  // Once more, untouched: what comes out is what went in.
  const again = await importAgent(target, file);
  const second = await exportAgent(target, again.agentId, "again.sand");
  expect(second.facts.sha256).toBe(facts.sha256);
}, 300_000);

test("what is under way stays behind: the copy has an ended turn and runs nothing", async () => {
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.send(agent, "hang");
  const isUnderWay = async () => (await host.lines(agent)).includes("tool:Shell:running");
  await waitUntil("the command to run", isUnderWay, { deadlineMs: 60_000 });
  await host.call("sendPrompt", { agentId: agent, prompt: "later", whenBusy: "queue" });
  const { file } = await exportAgent(host, agent, "ann.sand");
  const { agentId } = await importAgent(host, file, "copy");
  // A host that wasn't asked for it finds it at its next start.
  await host.restart();
  expect(await rosterOf(host)).toContain("copy");
  await host.whenIdle(agentId);
  expect(await host.lines(agentId)).toEqual(["user:hang", "tool:Shell:unknown", "user:later"]);
  const replayed = await offline(host, { kind: "replay", root: host.dataRoot, turnId: null, agent: agentId });
  expect(replayed).toMatchObject({ turns: 1, diverged: 0 });
  await host.call("interruptAgentRun", { id: agent });
}, 300_000);

test("an archive that is damaged, cut, foreign, hostile or newer is refused, and nothing of it is installed", async () => {
  await using host = await startTestHost({ script });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  const { file } = await exportAgent(host, agent, "ann.sand");
  const packed = readFileSync(file);
  const plain = gunzipSync(packed);
  const agents = readdirSync(join(host.dataRoot, "agents"));

  const bad: Readonly<Record<string, readonly [Buffer, string]>> = {
    "a flipped byte": [flipped(packed, packed.length >> 1), "archive/damaged"],
    "cut off": [packed.subarray(0, packed.length - 40), "archive/damaged"],
    "cut at a block": [gzipSync(plain.subarray(0, 1_024)), "archive/damaged"],
    "without its list": [
      gzipSync(
        Buffer.concat(
          [
            membersOf(plain)
              .slice(0, -1)
              .map(({ whole }) => whole),
            Buffer.alloc(1_024),
          ].flat(),
        ),
      ),
      "archive/damaged",
    ],
    "another program's": [Buffer.from("PK\u0003\u0004 something else"), "archive/damaged"],
    "an empty file": [Buffer.alloc(0), "archive/damaged"],
    "a changed row": [
      gzipSync(edited(plain, "rows/000001.jsonl", (text) => text.replace("done", "dune"))),
      "archive/damaged",
    ],
    "a path out of the folder": [
      gzipSync(renamed(plain, "files/profile.json", "files/../../evil.json")),
      "archive/refused",
    ],
    "an absolute path": [gzipSync(renamed(plain, "files/profile.json", "/tmp/evil.json")), "archive/refused"],
    "a store of its own": [
      gzipSync(renamed(plain, "files/profile.json", "files/store.db")),
      "archive/refused",
    ],
    "a link": [gzipSync(typed(plain, "files/profile.json", "2")), "archive/refused"],
    "a bomb": [
      gzipSync(Buffer.concat([header("agent.json", 2 ** 29), Buffer.alloc(2 ** 29)])),
      "archive/refused",
    ],
    "a newer version": [
      gzipSync(edited(plain, "agent.json", (text) => text.replace('"version":1', '"version":2'))),
      "archive/newer-version",
    ],
  };
  for (const [what, [bytes, code]] of Object.entries(bad)) {
    writeFileSync(join(host.workspace, "bad.sand"), bytes);
    const failure = await importAgent(host, join(host.workspace, "bad.sand")).catch(
      (error: unknown) => error,
    );
    expect([what, failure instanceof BoxError ? failure.code : failure]).toEqual([what, code]);
    expect(readdirSync(join(host.dataRoot, "agents"))).toEqual(agents);
    expect(leftOvers(host)).toEqual([]);
  }
}, 300_000);

function leftOvers(host: TestHost): readonly string[] {
  const folder = join(host.dataRoot, "tmp");
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith("import-")) : [];
}

interface Member {
  readonly name: string;
  readonly header: Buffer;
  readonly content: Buffer;
  readonly whole: Buffer;
}

function membersOf(plain: Buffer): readonly Member[] {
  const members: Member[] = [];
  for (let at = 0; plain[at] !== 0; ) {
    const block = plain.subarray(at, at + 512);
    const name = block.toString("utf8", 0, block.indexOf(0));
    const bytes = Number.parseInt(block.toString("utf8", 124, 135), 8);
    const end = at + 512 + Math.ceil(bytes / 512) * 512;
    members.push({
      name,
      header: block,
      content: plain.subarray(at + 512, at + 512 + bytes),
      whole: plain.subarray(at, end),
    });
    at = end;
  }
  return members;
}

function rebuilt(plain: Buffer, wanted: string, change: (member: Member) => Buffer): Buffer {
  const parts = membersOf(plain).map((member) => (member.name === wanted ? change(member) : member.whole));
  return Buffer.concat([...parts, Buffer.alloc(1_024)]);
}

function edited(plain: Buffer, name: string, edit: (text: string) => string): Buffer {
  return rebuilt(plain, name, ({ content }) => {
    const text = Buffer.from(edit(content.toString("utf8")));
    return Buffer.concat([header(name, text.length), text, Buffer.alloc((512 - (text.length % 512)) % 512)]);
  });
}

function renamed(plain: Buffer, name: string, other: string): Buffer {
  return rebuilt(plain, name, ({ whole, content }) =>
    Buffer.concat([header(other, content.length), whole.subarray(512)]),
  );
}

function typed(plain: Buffer, name: string, type: string): Buffer {
  return rebuilt(plain, name, ({ whole, content }) =>
    Buffer.concat([header(name, content.length, type), whole.subarray(512)]),
  );
}

function header(name: string, bytes: number, type = "0"): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write("0000600\u00000000000\u00000000000\0", 100);
  block.write(`${bytes.toString(8).padStart(11, "0")}\u000000000000000\0        ${type}`, 124);
  block.write("ustar\u000000", 257);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x20;
  return copy;
}
