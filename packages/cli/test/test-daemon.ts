/** The real execution daemon for a test home, from its sources, found there as `sand` finds one. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type TestHome, waitFor } from "./run-sand.ts";

const sources = fileURLToPath(new URL("../../exec-daemon/src/main.ts", import.meta.url));
export const daemonToken = "planted-daemon-token-of-a-test";

export interface TestDaemon extends AsyncDisposable {
  readonly pid: number;
  kill(): Promise<void>;
}

export async function startTestDaemon(home: TestHome): Promise<TestDaemon> {
  const tokenFile = join(home.dataRoot, "exec-daemon.token");
  writeFileSync(tokenFile, `${daemonToken}\n`, { mode: 0o600 });
  const child = spawn(process.execPath, [sources], {
    cwd: home.folder,
    env: { ...home.environment, SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE: tokenFile, SAND_SANDBOX: "off" },
    stdio: "ignore",
  });
  const exit = once(child, "exit");
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exit;
  };
  await waitFor("the daemon's discovery file", () => readPid(home.dataRoot) === child.pid);
  return { pid: child.pid ?? 0, kill: () => end("SIGKILL"), [Symbol.asyncDispose]: () => end("SIGTERM") };
}

function readPid(dataRoot: string): number | undefined {
  try {
    return Number(Object(JSON.parse(readFileSync(join(dataRoot, "exec-daemon.json"), "utf8"))).pid);
  } catch {
    return undefined;
  }
}
