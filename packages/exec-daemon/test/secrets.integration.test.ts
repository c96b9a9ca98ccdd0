/** With a sandbox required, a command finds no token: not in files, not in `/proc`, not in its environment. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import { gather, shell, startTestDaemon, type TestDaemon, token } from "./daemon-process.ts";
import { startShellsWorld } from "./shells-world.ts";

let daemon: TestDaemon;
afterEach(() => daemon.dispose());

test("a command in the sandbox finds no token of anything", async () => {
  daemon = await startTestDaemon({ SAND_SANDBOX: "required" });
  writeFileSync(join(daemon.dataRoot, "gateway.json"), JSON.stringify({ token: "planted-gateway-token" }));
  const hunt = [
    "env",
    "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'",
    `find ${daemon.folder} /root /home /run -type f -size -1M 2>/dev/null | head -5000 | xargs -r cat 2>/dev/null`,
    `ls -A ${daemon.dataRoot}`,
    `cat /proc/${daemon.child.pid}/environ 2>/dev/null`,
  ].join("; ");
  await daemon.processes.start(shell("hunt", hunt));
  const { stdout } = await gather(daemon, "hunt");
  expect(stdout.toString("latin1")).toContain("SAND_EXECUTION_ID=hunt");
  for (const secret of [token, "planted-gateway-token"]) expect(stdout.includes(secret)).toBe(false);
}, 60_000);

test.each(["off", "required"])(
  "row 56: a session shell has no token, neither what it starts with nor what it remembers (sandbox %s)",
  async (sandbox) => {
    const world = await startShellsWorld({ SAND_SANDBOX: sandbox });
    daemon = world.daemon;
    const id = await world.create("bash", { login: true });
    const look = "kept=1; set; env; cat /proc/$$/environ /proc/self/environ | tr '\\0' '\\n'";
    for (const command of [look, look]) {
      const { stdout, stderr } = await world.run(id, command);
      expect(stdout).toContain("SAND_EXECUTION_ID=");
      expect(`${stdout}${stderr}`).not.toContain(token);
    }
    // A command in the background is told to agents in a file.
    await world.shells.run({ sessionId: id, processId: "told", command: look, background: true });
    await gather(daemon, "told");
    const written = execFileSync("grep", ["-rlaF", "kept=1", daemon.folder], { encoding: "utf8" });
    expect(written).not.toBe("");
    const leaks = spawnSync("grep", ["-rlaF", token, daemon.folder], { encoding: "utf8" });
    expect(leaks.stdout).toBe("");
  },
  60_000,
);

test("the same hunt outside of a sandbox finds it, so the hunt is a real one", async () => {
  daemon = await startTestDaemon({ SAND_SANDBOX: "off" });
  await daemon.processes.start(shell("hunt", `cat /proc/${daemon.child.pid}/environ`));
  expect((await gather(daemon, "hunt")).stdout.includes(token)).toBe(true);
});

test("where a sandbox is required and missing every run is refused, with the missing piece named", async () => {
  // Without bubblewrap on its path the daemon has no sandbox.
  daemon = await startTestDaemon({ SAND_SANDBOX: "required", PATH: "/nowhere" });
  const failure = ConnectError.from(
    await daemon.processes.start(shell("refused", "true")).catch((error: unknown) => error),
  );
  expect(failure.metadata.get("x-sand-code")).toBe("exec/sandbox-unavailable");
  expect(failure.rawMessage).toContain("bwrap");
  expect((await daemon.processes.list({})).executions).toEqual([]);
  const { capabilities } = await daemon.control.capabilities({});
  expect(capabilities.find(({ name }) => name === "pid-namespace")).toMatchObject({ enforced: false });
});

test("a signal to a sandboxed group reaches the command with TERM, which may tidy up", async () => {
  daemon = await startTestDaemon({ SAND_SANDBOX: "required" });
  await daemon.processes.start(
    shell("tidy", "trap 'echo tidied; exit 5' TERM; echo up; while :; do sleep 0.05; done"),
  );
  for await (const { event } of daemon.processes.attach({ processId: "tidy" })) {
    if (event?.kind.case === "output") break;
  }
  const { SignalScope } = await import("@sand/protocol/exec");
  await daemon.processes.signal({
    processId: "tidy",
    name: "SIGTERM",
    scope: SignalScope.GROUP,
    killAfterMs: 5000,
  });
  const { execution } = await daemon.processes.wait({ processId: "tidy", waitMs: 10_000 });
  expect(execution?.exited?.code).toBe(5);
  expect((await gather(daemon, "tidy")).stdout.toString()).toBe("up\ntidied\n");
});
