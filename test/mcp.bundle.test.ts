/** The shipped daemon speaks to MCP servers: the SDK is in the bundle, and loaded by the first use. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createWorld, findBundles, type SandWorld } from "../packages/testkit/src/proofs/door.ts";

const server = fileURLToPath(new URL("../packages/exec-daemon/test/mcp-odd-server.mjs", import.meta.url));

async function call(world: SandWorld, method: string, body: object): Promise<unknown> {
  const { rpcPort } = JSON.parse(readFileSync(join(world.dataRoot, "exec-daemon.json"), "utf8"));
  const response = await fetch(`http://127.0.0.1:${rpcPort}/exec.v1.Mcp/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${world.secrets.daemon}` },
    body: JSON.stringify(body),
  });
  return await response.json();
}

test("a server is started, its tools are listed, and it is gone with the daemon", {
  timeout: 120_000,
}, async () => {
  await using world = await createWorld({ label: "mcp", bundles: findBundles("shipped"), sandbox: "off" });
  const daemon = await world.startDaemon();
  const stdio = { command: [process.execPath, server] };
  await call(world, "LoadServers", { source: "test", servers: [{ id: "odd", stdio }] });
  expect(JSON.stringify(await call(world, "ListTools", {}))).toContain('"name":"echo"');
  const { servers } = Object(await call(world, "ListServers", {}));
  const { pid } = servers[0];
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  daemon.kill("SIGTERM");
  await daemon.exited;
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});
