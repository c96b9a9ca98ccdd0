/** The shipped daemon reads commands by the grammar that it carries, without any package beside it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fieldOf, waitUntil } from "../packages/testkit/src/index.ts";

const bundle = join(import.meta.dirname, "../dist/box-exec-daemon/main.cjs");

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

test("a command is read by the bundle alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sand-advice-"));
  copyFileSync(bundle, join(folder, "main.cjs"));
  mkdirSync(join(folder, "workspace"));
  const child = spawn(process.execPath, [join(folder, "main.cjs")], {
    env: {
      ...{ PATH: process.env.PATH ?? "", HOME: folder, SAND_DATA_ROOT: join(folder, "data") },
      ...{ SAND_BOX_WORKSPACE_ROOT: join(folder, "workspace"), SAND_BOX_EXEC_DAEMON_PORT: "0" },
      ...{ SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "advice-token", SAND_SANDBOX: "off" },
    },
    stdio: "ignore",
  });
  try {
    const discovery = join(folder, "data/exec-daemon.json");
    await waitUntil("the daemon answers", () => existsSync(discovery), { deadlineMs: 60_000 });
    const port = fieldOf(JSON.parse(readFileSync(discovery, "utf8")), "rpcPort");
    const reply = await fetch(`http://127.0.0.1:${String(port)}/exec.v1.Policy/Advise`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer advice-token" },
      body: JSON.stringify({ command: "rm -rf build && curl https://example.com > page" }),
    });
    expect(await reply.json()).toEqual({
      ...{ understood: true, programs: ["rm", "curl"], deletes: ["build"] },
      ...{ redirects: [{ path: "page", kind: "write" }], network: ["https://example.com"] },
    });
  } finally {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  }
});
