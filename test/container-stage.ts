/**
 * Boxes on a real Docker engine: starts them, talks to them, and removes every container and volume that it made,
 * whatever happened in between.
 */
import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import {
  callOrFail,
  fieldOf,
  type GatewayAccess,
  listOf,
  textOf,
  waitUntil,
} from "../packages/testkit/src/index.ts";

const runFile = promisify(execFile);
const dockerMaxMs = 60_000;
const outputMaxBytes = 16 * 1024 * 1024;
const healthMaxMs = 60_000;
const turnMaxMs = 60_000;

/** Standard output of a `docker` command; throws with what it complained about. */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await runFile("docker", [...args], { timeout: dockerMaxMs, maxBuffer: outputMaxBytes });
  return stdout.trim();
}

/** Undefined when an engine answers, else why it can't be used. */
export async function findMissingEngine(): Promise<string | undefined> {
  try {
    await docker("version", "--format", "{{.Server.Version}}");
    return undefined;
  } catch (error) {
    const line = String(error).trim().split("\n").at(-1);
    return `no Docker engine answers: ${line}`;
  }
}

/** What seed 000 sets for a start without a credential, and nothing else. */
export function connectorEnvironment(token: string): Record<string, string> {
  return {
    SAND_SUPERVISOR_ENABLED: "1",
    SAND_BOX_AUTO_UPDATE: "0",
    SAND_USE_EXISTING_BOX_EXEC_DAEMON: "1",
    SAND_TREE_SITTER_NODE_DEPS: "/home/box/deps",
    NODE_PATH: "/home/box/deps",
    SAND_GATEWAY_BIND_HOST: "0.0.0.0",
    SAND_HOST_PORT: "1340",
    SAND_GATEWAY_TOKEN: token,
  };
}

export interface BoxPlan {
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  /** more arguments of `docker run`, before the image */
  readonly args?: readonly string[];
  /** after the image */
  readonly command?: readonly string[];
}

export interface TestBox {
  readonly name: string;
  /** Where its gateway is now: a published port may change with each start. */
  access(): Promise<GatewayAccess>;
  awaitHealth(): Promise<void>;
  exec(...command: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

export interface ContainerStage extends AsyncDisposable {
  startBox(plan: BoxPlan): Promise<TestBox>;
  createVolume(): Promise<string>;
}

export function openStage(): ContainerStage {
  const mark = `sand-test-${process.pid}-${randomBytes(4).toString("hex")}`;
  const label = `sand.test=${mark}`;
  let count = 0;
  const nextName = (kind: string): string => {
    count += 1;
    return `${mark}-${kind}-${count}`;
  };

  // A process that is told to end has no time for the ordinary way.
  const removeAtExit = (): void => removeMarked(label);
  process.once("exit", removeAtExit);

  return {
    async startBox(plan) {
      const name = nextName("box");
      const env = Object.entries(plan.env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
      const place = ["--name", name, "--label", label, "--publish", "127.0.0.1:0:1340"];
      await docker(
        "run",
        "--detach",
        ...place,
        ...env,
        ...(plan.args ?? []),
        plan.image,
        ...(plan.command ?? []),
      );
      const box = openBox(name, plan.env.SAND_GATEWAY_TOKEN ?? "");
      await box.awaitHealth();
      return box;
    },
    async createVolume() {
      return await docker("volume", "create", "--label", label, nextName("volume"));
    },
    async [Symbol.asyncDispose]() {
      process.removeListener("exit", removeAtExit);
      const containers = await docker("ps", "--all", "--quiet", "--filter", `label=${label}`);
      if (containers !== "") await docker("rm", "--force", "--volumes", ...containers.split("\n"));
      const volumes = await docker("volume", "ls", "--quiet", "--filter", `label=${label}`);
      if (volumes !== "") await docker("volume", "rm", "--force", ...volumes.split("\n"));
    },
  };
}

function removeMarked(label: string): void {
  const sync = (...args: string[]): string[] => {
    const { stdout } = spawnSync("docker", args, { encoding: "utf8" });
    return (stdout ?? "").split("\n").filter((line) => line !== "");
  };
  const containers = sync("ps", "--all", "--quiet", "--filter", `label=${label}`);
  if (containers.length > 0) sync("rm", "--force", "--volumes", ...containers);
  const volumes = sync("volume", "ls", "--quiet", "--filter", `label=${label}`);
  if (volumes.length > 0) sync("volume", "rm", "--force", ...volumes);
}

function openBox(name: string, token: string): TestBox {
  const access = async (): Promise<GatewayAccess> => ({
    url: `http://${(await docker("port", name, "1340/tcp")).split("\n")[0]}`,
    token,
  });
  return {
    name,
    access,
    async awaitHealth() {
      await waitUntil(`${name} is healthy`, () => isHealthy(name, access), {
        deadlineMs: healthMaxMs,
        everyMs: 100,
      });
    },
    exec: (...command) => docker("exec", name, ...command),
    async remove() {
      await docker("rm", "--force", "--volumes", name);
    },
  };
}

async function isHealthy(name: string, access: () => Promise<GatewayAccess>): Promise<boolean> {
  const isRunning = await docker("inspect", "--format", "{{.State.Running}}", name);
  if (isRunning !== "true") throw new Error(`${name} ended: ${await docker("logs", "--tail", "40", name)}`);
  try {
    const { url } = await access();
    return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    // Not listening yet.
    return false;
  }
}

export async function createAgent(box: TestBox, name: string): Promise<string> {
  const made = await callOrFail(await box.access(), "createAgent", { name, description: "" });
  return textOf(fieldOf(fieldOf(made, "agent"), "id"));
}

/** Hands a prompt over; the turn goes on by itself. */
export async function sendPrompt(box: TestBox, agentId: string, prompt: string): Promise<void> {
  const clientNonce = randomBytes(8).toString("hex");
  await callOrFail(await box.access(), "sendPrompt", { agentId, prompt, clientNonce });
}

export async function awaitIdle(box: TestBox, agentId: string): Promise<void> {
  const look = async (): Promise<boolean> => {
    const rows = listOf(await callOrFail(await box.access(), "listAgents", {}));
    const row = rows.find((candidate) => fieldOf(candidate, "id") === agentId);
    return row !== undefined && fieldOf(row, "isRunning") === false;
  };
  await waitUntil(`the turn of ${agentId} settles`, look, { deadlineMs: turnMaxMs, everyMs: 100 });
}

/** How many agents have a turn open right now. */
export async function countRunning(box: TestBox): Promise<number> {
  const rows = listOf(await callOrFail(await box.access(), "listAgents", {}));
  return rows.filter((row) => fieldOf(row, "isRunning") === true).length;
}

export async function readTranscript(box: TestBox, id: string): Promise<readonly unknown[]> {
  return listOf(fieldOf(await callOrFail(await box.access(), "getAgentTranscriptTail", { id }), "entries"));
}

/** The tool calls of a transcript, oldest first. */
export function toolCalls(entries: readonly unknown[]): readonly unknown[] {
  return entries.filter((entry) => fieldOf(entry, "kind") === "tool-call");
}

/** Runs one command by a prompt and returns its entry in the transcript. */
export async function runByPrompt(box: TestBox, agentId: string, command: string): Promise<unknown> {
  await sendPrompt(box, agentId, `run \`${command}\``);
  await awaitIdle(box, agentId);
  return toolCalls(await readTranscript(box, agentId)).at(-1);
}
