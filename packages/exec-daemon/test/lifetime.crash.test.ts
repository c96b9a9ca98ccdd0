/** How long a command in a sandbox lives is said by its request alone, never by who happens to be its ancestor. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ExecutionState, SignalScope } from "@sand/protocol/exec";
import { afterEach, beforeEach, expect, test } from "vitest";
import { gather, shell, startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";

let daemon: TestDaemon;
beforeEach(async () => {
  daemon = await startTestDaemon({ SAND_SANDBOX: "required" });
});
afterEach(() => daemon.dispose());

const has = (name: string) => existsSync(join(daemon.workspace, name)) || undefined;

test("a command in a sandbox outlives the daemon that started it, and ends when it is told to", async () => {
  await daemon.processes.start({
    ...shell("server", "touch up; while [ ! -e go ]; do sleep 0.05; done; touch went-on; sleep 60"),
    background: true,
  });
  await until("it is up", () => has("up"));
  await daemon.kill();
  writeFileSync(join(daemon.workspace, "go"), "");
  await until("it goes on without a daemon", () => has("went-on"));
  daemon = await daemon.again();
  const { executions } = await daemon.processes.list({});
  expect(executions).toMatchObject([{ processId: "server", state: ExecutionState.RUNNING }]);
  await daemon.processes.signal({ processId: "server", name: "SIGTERM", scope: SignalScope.GROUP });
  const { events } = await gather(daemon, "server");
  expect(events.some(({ kind }) => kind.case === "exited")).toBe(true);
});
