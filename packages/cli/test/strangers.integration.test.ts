/** What `sand` does about things that aren't its own: a process under a stored pid, a port in use, an open folder. */
import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { readProcessIdentity } from "@sand/node-kit";
import { expect, test } from "vitest";
import { createTestHome } from "./run-sand.ts";

test("down never signals a process that only has a host's old pid", async () => {
  using home = createTestHome();
  const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    const pid = stranger.pid ?? 0;
    const identity = readProcessIdentity(pid);
    const discovery = { port: 9, pid, startedAt: 1, scheme: "http", host: "127.0.0.1", token: "t" };
    writeFileSync(join(home.dataRoot, "gateway.json"), JSON.stringify(discovery));
    // The daemon's record has the right pid, but another start time: the pid was taken over since.
    const record = {
      version: 1,
      host: "127.0.0.1",
      rpcPort: 9,
      pid,
      startTime: "1",
      bootId: identity?.bootId,
      startedAtMs: 1,
    };
    writeFileSync(join(home.dataRoot, "exec-daemon.json"), JSON.stringify(record));
    const ran = await home.run(["down", "--force", "--json"]);
    expect({ code: ran.code, report: JSON.parse(ran.stdout) }).toEqual({
      code: 3,
      report: { host: "not-running", daemon: "not-running" },
    });
    expect(readProcessIdentity(pid)).toEqual(identity);
  } finally {
    stranger.kill("SIGKILL");
  }
});

test("a damaged discovery file counts as none", async () => {
  using home = createTestHome();
  for (const text of ["", "{", "[]", '{"port":"x"}']) {
    writeFileSync(join(home.dataRoot, "gateway.json"), text);
    expect((await home.run(["status"])).code).toBe(3);
  }
});

test("the doctor names a port in use, an open data root and a provider without a model, and ends with status 1", async () => {
  using home = createTestHome();
  chmodSync(home.dataRoot, 0o755);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const env = { SAND_HOST_PORT: String(port), SAND_INFERENCE_PROVIDER: "openai-compatible" };
    const ran = await home.run(["doctor", "--json"], { env });
    const { findings } = JSON.parse(ran.stdout) as {
      readonly findings: readonly { readonly subject: string; readonly severity: string }[];
    };
    const of = (subject: string) => findings.find((finding) => finding.subject === subject)?.severity;
    expect([ran.code, of("port"), of("data root"), of("model"), of("node")]).toEqual([
      1,
      "fail",
      "warn",
      "fail",
      "ok",
    ]);
  } finally {
    server.close();
  }
});
