/**
 * A host in this process for tests of turns: real stores, a real gateway, a real daemon that the host starts, and a
 * scripted model on the wire. Closing it ends the daemon too and removes the folder.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLogger, randomIds, systemClock } from "@sand/node-kit";
import {
  callGateway,
  callOrFail,
  createTempFolder,
  fieldOf,
  type GatewayAccess,
  listOf,
  textOf,
  waitUntil,
} from "@sand/testkit";
import { type ModelScript, type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { readConfig } from "../src/config.ts";
import { type Host, startHost } from "../src/start-host.ts";

const token = "test-token-of-the-gateway-0123456789";
const deadlineMs = 90_000;
const daemonProgram = fileURLToPath(new URL("../../exec-daemon/src/main.ts", import.meta.url));

export interface TestHost extends AsyncDisposable {
  readonly model: ScriptedModel;
  readonly workspace: string;
  readonly dataRoot: string;
  readonly logLines: readonly string[];
  /** of the running host; another one after a restart */
  access(): GatewayAccess;
  call(command: string, body: unknown): Promise<unknown>;
  /** status of a call that may fail */
  status(command: string, body: unknown): Promise<number>;
  createAgent(name: string): Promise<string>;
  /** sends and waits until the agent is idle */
  ask(agentId: string, prompt: string, more?: object): Promise<void>;
  send(agentId: string, prompt: string, more?: object): Promise<void>;
  whenIdle(agentId: string): Promise<void>;
  entries(agentId: string): Promise<readonly unknown[]>;
  /** `kind:text` of each entry, tool calls with their status */
  lines(agentId: string): Promise<readonly string[]>;
  /** closes the host as SIGTERM does and starts another one on the same data root */
  restart(between?: () => void): Promise<void>;
  file(name: string): string;
}

export interface TestHostOptions {
  readonly script: ModelScript;
  readonly env?: Readonly<Record<string, string>>;
}

export async function startTestHost(options: TestHostOptions): Promise<TestHost> {
  const root = await createTempFolder("turns");
  const workspace = root.path;
  const dataRoot = join(root.path, "data");
  const model = await startScriptedModel({ script: options.script });
  const logLines: string[] = [];
  const logger = createLogger({ name: "host", level: "info", write: (line) => logLines.push(line) });

  async function start(): Promise<Host> {
    const env = {
      SAND_DATA_ROOT: dataRoot,
      SAND_BOX_WORKSPACE_ROOT: workspace,
      SAND_HOST_PORT: "0",
      SAND_BOX_EXEC_DAEMON_PORT: "0",
      SAND_GATEWAY_TOKEN: token,
      SAND_SANDBOX: "off",
      SAND_INFERENCE_PROVIDER: "openai-compatible",
      SAND_INFERENCE_BASE_URL: model.baseUrl,
      SAND_INFERENCE_MODEL: "scripted",
      ...options.env,
    };
    return await startHost({
      config: readConfig({ ...env }, workspace),
      version: "0.0.0",
      clock: systemClock,
      ids: randomIds,
      logger,
      daemonProgram,
    });
  }

  let host = await start();
  const access = () => ({ url: host.url, token });

  async function whenIdle(agentId: string): Promise<void> {
    await waitUntil(`agent ${agentId} to be idle`, async () => !(await isRunning(agentId)), {
      deadlineMs,
      describe: () => logLines.slice(-5).join(""),
    });
  }

  async function isRunning(agentId: string): Promise<boolean> {
    const agents = listOf(await callOrFail(access(), "listAgents", {}));
    return agents.some((agent) => fieldOf(agent, "id") === agentId && fieldOf(agent, "isRunning") === true);
  }

  async function send(agentId: string, prompt: string, more: object = {}): Promise<void> {
    await callOrFail(access(), "sendPrompt", { agentId, prompt, ...more });
  }

  async function entries(agentId: string): Promise<readonly unknown[]> {
    return listOf(fieldOf(await callOrFail(access(), "getAgentTranscriptTail", { id: agentId }), "entries"));
  }

  async function close(): Promise<void> {
    await host.close();
    endDaemon(dataRoot);
    await model.close();
    await root.remove();
  }

  return {
    model,
    workspace,
    dataRoot,
    logLines,
    access,
    call: (command, body) => callOrFail(access(), command, body),
    async status(command, body) {
      const reply = await callGateway(access(), command, body);
      return reply.kind === "answered" ? reply.status : 0;
    },
    async createAgent(name) {
      const made = await callOrFail(access(), "createAgent", { name, description: "" });
      return textOf(fieldOf(fieldOf(made, "agent"), "id"));
    },
    async ask(agentId, prompt, more) {
      await send(agentId, prompt, more);
      await whenIdle(agentId);
    },
    send,
    whenIdle,
    entries,
    lines: async (agentId) => (await entries(agentId)).map(lineOf),
    async restart(between) {
      await host.close();
      between?.();
      host = await start();
    },
    file: (name) => readFileSync(join(workspace, name), "utf8"),
    [Symbol.asyncDispose]: close,
  };
}

function lineOf(entry: unknown): string {
  const kind = textOf(fieldOf(entry, "kind"));
  if (kind === "tool-call")
    return `tool:${textOf(fieldOf(entry, "name"))}:${textOf(fieldOf(entry, "status"))}`;
  if (kind === "send-message") return `answer:${textOf(fieldOf(fieldOf(entry, "message"), "content"))}`;
  if (kind === "notice") return `notice:${textOf(fieldOf(entry, "code"))}`;
  return `${textOf(fieldOf(entry, "role"))}:${textOf(fieldOf(entry, "content"))}`;
}

/** The host leaves its daemon running on purpose; a test must not. */
function endDaemon(dataRoot: string): void {
  try {
    const discovery: unknown = JSON.parse(readFileSync(join(dataRoot, "exec-daemon.json"), "utf8"));
    const pid = fieldOf(discovery, "pid");
    if (typeof pid === "number") process.kill(pid, "SIGTERM");
  } catch {
    // No daemon was started, or it is gone already.
  }
}
