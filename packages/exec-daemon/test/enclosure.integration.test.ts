/** The daemon's own enclosure: what commands of the policy's layers may do, and what is left behind. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Policy } from "@sand/protocol/exec";
import { afterEach, expect, test, vi } from "vitest";
import { waitUntil } from "../../testkit/src/index.ts";
import { startTestDaemon, type TestDaemon, token } from "./daemon-process.ts";
import { runToEnd } from "./run-to-end.ts";

// Several daemons for each test, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const open: TestDaemon[] = [];
afterEach(async () => {
  for (const daemon of open.splice(0).reverse()) await daemon.dispose();
});

/** The next daemon of the same folders; the last one clears up for all of them. */
async function next(before: TestDaemon, env: Record<string, string> = {}): Promise<TestDaemon> {
  await before.kill();
  const daemon = await before.again({ SAND_SANDBOX: "required", ...env });
  const at = open.indexOf(before);
  if (at >= 0) open.splice(at, 1);
  open.push(daemon);
  return daemon;
}

async function start(policy: object = {}): Promise<TestDaemon> {
  const first = await startTestDaemon({ SAND_SANDBOX: "off" });
  open.push(first);
  writeFileSync(join(first.dataRoot, "policy.json"), JSON.stringify(policy));
  return await next(first);
}

test("a command is filtered, and its run carries the digest of the rules", async () => {
  const daemon = await start();
  const run = await runToEnd(daemon, "grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status; unshare -U true");
  expect(run.stdout).toBe("NoNewPrivs:\t1\nSeccomp:\t2\n");
  expect(run.stderr).toContain("Operation not permitted");
  expect(run.execution?.policyHash).toMatch(/^[0-9a-f]{64}$/u);
  const { capabilities } = await daemon.control.capabilities({});
  const enforced = capabilities.filter((one) => one.enforced).map((one) => one.name);
  expect(enforced).toEqual(expect.arrayContaining(["seccomp", "network-namespace", "protected-paths"]));
});

test("a repository's hooks are closed while its commits work, and nothing is left behind", async () => {
  const daemon = await start();
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: daemon.workspace });
  git("init", "--quiet");
  const before = readdirSync(daemon.workspace);
  const script = [
    "echo x > .git/hooks/post-commit || echo hook closed",
    "mkdir .claude/x || echo settings closed",
    "mv .git .git2 || echo folder closed",
    "git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m first && git log --format=%s",
  ].join("\n");
  expect((await runToEnd(daemon, script)).stdout).toBe(
    "hook closed\nsettings closed\nfolder closed\nfirst\n",
  );
  await waitUntil("nothing is left", () => String(readdirSync(daemon.workspace)) === String(before), {
    deadlineMs: 20_000,
  });
});

test("mount points of a run that was killed together with its daemon are removed by the next one", async () => {
  const daemon = await start();
  const reply = await daemon.processes.start({
    processId: "long",
    command: { case: "shell", value: "sleep 60" },
  });
  expect(existsSync(join(daemon.workspace, ".claude"))).toBe(true);
  await next(daemon);
  // The command lives on, so its mount points have to.
  expect(existsSync(join(daemon.workspace, ".claude"))).toBe(true);
  process.kill(reply.execution?.pid ?? 0, "SIGKILL");
  await waitUntil("nothing is left", () => readdirSync(daemon.workspace).length === 0, {
    deadlineMs: 20_000,
  });
});

test("paths that a policy keeps, closes or opens are so", async () => {
  const daemon = await start({
    keptPaths: ["./kept"],
    protectedPaths: ["./closed", "./later"],
    hiddenPaths: ["./hidden"],
    executors: { shell: { temporary: "fresh" } },
  });
  for (const name of ["kept", "closed", "hidden"]) {
    mkdirSync(join(daemon.workspace, name));
    writeFileSync(join(daemon.workspace, name, "file"), name);
  }
  const again = await next(daemon);
  const script = [
    "rm -r kept; mv kept gone; echo more >> kept/file",
    "echo x > closed/file; mkdir later/x",
    "cat hidden/file; touch /tmp/once; ls /tmp/once",
  ].join("; ");
  expect((await runToEnd(again, script)).stdout).toBe("/tmp/once\n");
  expect(readdirSync(join(again.workspace, "kept"))).toEqual(["file"]);
  expect(readFileSync(join(again.workspace, "closed/file"), "utf8")).toBe("closed");
  expect((await runToEnd(again, "ls /tmp/once")).stdout).toBe("");
});

test("a request can make its run stricter", async () => {
  const daemon = await start();
  const script = "touch made || echo read only; wc -l < /proc/net/dev";
  const sandbox = { readOnlyWorkspace: true, withoutNetwork: true };
  expect((await runToEnd(daemon, script, sandbox)).stdout).toBe("read only\n3\n");
});

test("a rule that somebody wrote refuses where it can't be enforced, although the setting is auto", async () => {
  const first = await startTestDaemon();
  open.push(first);
  writeFileSync(join(first.dataRoot, "policy.json"), JSON.stringify({ network: "none" }));
  const daemon = await next(first, { SAND_SANDBOX: "auto", PATH: "/nowhere" });
  await expect(runToEnd(daemon, "true")).rejects.toThrow(/user policy has a rule about network.*bubblewrap/u);
});

test("a policy that can't be understood ends the start, and a repository's is left out", async () => {
  const first = await startTestDaemon();
  open.push(first);
  mkdirSync(join(first.workspace, ".sand"));
  writeFileSync(join(first.workspace, ".sand/policy.json"), '{"network":"maybe"}');
  const daemon = await next(first, { SAND_SANDBOX: "off" });
  expect(daemon.log()).toContain("policy.left-out");
  writeFileSync(join(first.dataRoot, "policy.json"), '{"network":"maybe"}');
  await expect(next(daemon)).rejects.toThrow(/ended with 1/u);
});

test("file tools keep to the same protected paths", async () => {
  const daemon = await start({ keptPaths: ["./kept"] });
  execFileSync("git", ["init", "--quiet"], { cwd: daemon.workspace });
  mkdirSync(join(daemon.workspace, "kept"));
  const data = Buffer.from("x");
  const write = (path: string) => daemon.files.write({ path, data, operationId: path });
  await expect(write("plain.txt")).resolves.toBeDefined();
  for (const path of [".git/hooks/post-commit", ".git/config", ".mcp.json", ".claude/settings.json"])
    await expect(write(path)).rejects.toThrow(/protected/u);
  for (const path of [".git", "kept"])
    await expect(daemon.files.remove({ path, recursive: true })).rejects.toThrow(/protected/u);
});

test("a policy explains itself, and a command is read without being run", async () => {
  const daemon = await start({
    network: "listed",
    domains: ["a.test"],
    executors: { mcp: { network: "none" } },
  });
  const policy = createClient(
    Policy,
    createConnectTransport({
      baseUrl: daemon.baseUrl,
      httpVersion: "1.1",
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${token}`);
          return next(request);
        },
      ],
    }),
  );
  expect(await policy.explain({ executor: "mcp" })).toMatchObject({ network: "none", refusal: "" });
  const shell = await policy.explain({});
  expect(shell).toMatchObject({ network: "listed", domains: ["a.test"] });
  expect(shell.reasons).toContainEqual(
    expect.objectContaining({ rule: "network", value: "listed", layer: "user", applied: true }),
  );
  await expect(policy.explain({ executor: "robot" })).rejects.toThrow(/no executor/u);
  expect(await policy.advise({ command: "rm -r x > log" })).toMatchObject({
    ...{ understood: true, deletes: ["x"] },
    redirects: [expect.objectContaining({ path: "log", kind: "write" })],
  });
});
