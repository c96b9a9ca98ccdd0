/** The tools over a real exec-daemon: its own process, its own workspace and data root, all gone at the end. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ToolSet } from "@sand/agent-core";
import { systemClock } from "@sand/node-kit";
import {
  createTempFolder,
  findProcessesOf,
  type StartedProcess,
  startProcess,
  waitUntil,
} from "@sand/testkit";
import type { BoxPort } from "../src/box/box-port.ts";
import { createBoxClient } from "../src/box/create-box-client.ts";
import { createTools } from "../src/tools/create-tools.ts";

export interface ToolWorld extends AsyncDisposable {
  readonly tools: ToolSet;
  readonly box: BoxPort;
  readonly workspace: string;
  readonly daemon: () => StartedProcess;
  /** SIGKILL, and a new daemon on the same data root */
  restartDaemon(): Promise<void>;
}

const token = "a-token-of-this-test";
const daemonEntry = fileURLToPath(new URL("../../exec-daemon/src/main.ts", import.meta.url));

export async function createToolWorld(sandbox: "off" | "required" = "off"): Promise<ToolWorld> {
  const folder = await createTempFolder("tools");
  const workspace = join(folder.path, "workspace");
  const dataRoot = join(folder.path, "data");
  await mkdir(workspace);
  await mkdir(dataRoot, { mode: 0o700 });
  let port = 0;

  async function launch(): Promise<StartedProcess> {
    const started = startProcess({
      name: "exec-daemon",
      args: [daemonEntry],
      cwd: folder.path,
      logFile: join(folder.path, "daemon.log"),
      env: {
        PATH: process.env.PATH ?? "",
        HOME: workspace,
        SAND_DATA_ROOT: dataRoot,
        SAND_BOX_WORKSPACE_ROOT: workspace,
        SAND_BOX_EXEC_DAEMON_PORT: "0",
        SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: token,
        SAND_SANDBOX: sandbox,
      },
    });
    port = await waitUntil("the daemon's discovery file", () => readPort(dataRoot, started.pid), {
      deadlineMs: 20_000,
    });
    return started;
  }

  let daemon = await launch();
  const box = createBoxClient({
    baseUrl: () => `http://127.0.0.1:${port}`,
    token: () => token,
    clock: systemClock,
  });
  return {
    tools: createTools({ box, clock: systemClock }),
    box,
    workspace,
    daemon: () => daemon,
    async restartDaemon() {
      await daemon.end();
      daemon = await launch();
    },
    async [Symbol.asyncDispose]() {
      try {
        for (const { executionId } of await box.list()) {
          await box.signal(executionId, { name: "SIGKILL", scope: "tree", killAfterMs: null });
        }
      } finally {
        daemon.kill("SIGTERM");
        await daemon.exited;
      }
      await waitUntil("everything of this test to be gone", () => findProcessesOf(folder.path).length === 0, {
        deadlineMs: 10_000,
        describe: () => JSON.stringify(findProcessesOf(folder.path)),
      });
      await folder.remove();
    },
  };
}

async function readPort(dataRoot: string, pid: number): Promise<number | undefined> {
  try {
    const found: unknown = JSON.parse(await readFile(join(dataRoot, "exec-daemon.json"), "utf8"));
    if (typeof found !== "object" || found === null || !("rpcPort" in found) || !("pid" in found))
      return undefined;
    return found.pid === pid && typeof found.rpcPort === "number" ? found.rpcPort : undefined;
  } catch {
    return undefined;
  }
}
