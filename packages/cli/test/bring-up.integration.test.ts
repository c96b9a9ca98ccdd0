/** `sand up` around a stand-in for the host: how it is started, what it is given, and what is said when it fails. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sand/node-kit";
import { afterEach, expect, test } from "vitest";
import type { CommandContext } from "../src/command.ts";
import { CommandFailure } from "../src/command-failure.ts";
import { parseConfig } from "../src/config.ts";
import { bringUpLocally } from "../src/local-host/bring-up.ts";
import { createTerminal } from "../src/terminal.ts";
import { createTestHome, type TestHome } from "./run-sand.ts";

/** Tells what it was given, then answers `/health` as a host does, until it is ended. */
const standIn = `
const { readFileSync, writeFileSync, mkdirSync } = require("node:fs");
const { createServer } = require("node:http");
const { env, pid } = process;
const secrets = readFileSync(Number(env.SAND_SECRETS_FD), "utf8");
const firstEnvironment = readFileSync("/proc/self/environ", "latin1");
writeFileSync(env.HOME + "/given.json", JSON.stringify({ secrets, firstEnvironment, argv: process.argv }));
console.log("the stand-in starts");
if (env.SAND_LOG_LEVEL === "fail") { console.error("no such luck"); process.exit(1); }
const startedAt = Date.now();
const server = createServer((q, r) => r.end(JSON.stringify({ ok: true, pid, startedAt, isBusy: false, activeAgentId: null })));
server.listen(0, "127.0.0.1", () => {
  const body = { port: server.address().port, pid, startedAt, scheme: "http", host: "127.0.0.1", token: "t" };
  writeFileSync(env.SAND_DATA_ROOT + "/gateway.json", JSON.stringify(body));
});
setTimeout(() => process.exit(0), 30_000);
`;

const started: number[] = [];
afterEach(() => {
  for (const pid of started.splice(0)) process.kill(pid, "SIGKILL");
});

function createContext(home: TestHome, env: Readonly<Record<string, string>> = {}) {
  writeFileSync(join(home.folder, "host-main.cjs"), standIn);
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text) };
  const context: CommandContext = {
    config: parseConfig({ ...home.environment, ...env }),
    terminal: createTerminal({ stdout: stream, stderr: stream, json: true, noColor: true }),
    dataRoot: home.dataRoot,
    currentFolder: home.folder,
    programPath: join(home.folder, "sand.cjs"),
    version: "0",
  };
  return { context, said };
}

const choice = { port: 0, sandbox: "off", why: "a test", clock: systemClock };

async function bringUp(context: CommandContext, said: readonly string[]) {
  await bringUpLocally(context, choice);
  const report = JSON.parse(said.at(-1) ?? "{}") as { readonly pid: number; readonly began: string };
  started.push(report.pid);
  return report;
}

test("credentials reach the host by descriptor, and are in no environment and no argument", async () => {
  using home = createTestHome();
  const planted = { OPENROUTER_API_KEY: "planted-key", SAND_GATEWAY_TOKEN: "planted-token" };
  const { context, said } = createContext(home, planted);
  await bringUp(context, said);
  const given = JSON.parse(readFileSync(join(home.folder, "given.json"), "utf8")) as Readonly<
    Record<string, unknown>
  >;
  expect(JSON.parse(String(given.secrets))).toMatchObject(planted);
  const elsewhere = `${String(given.firstEnvironment)}${String(given.argv)}${said.join("")}${readFileSync(join(home.dataRoot, "logs/host.log"), "utf8")}`;
  expect(elsewhere).not.toContain("planted");
});

test("tokens are minted into files that only their owner reads, and the gateway's is kept", async () => {
  using home = createTestHome();
  const { context, said } = createContext(home);
  await bringUp(context, said);
  const paths = ["gateway.token", "exec-daemon.token", "logs/host.log"].map((name) =>
    join(home.dataRoot, name),
  );
  expect(paths.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  const before = paths.slice(0, 2).map((path) => readFileSync(path, "utf8"));
  await bringUp(context, said);
  const after = paths.slice(0, 2).map((path) => readFileSync(path, "utf8"));
  expect(after[0]).toBe(before[0]);
  // No daemon lives that would still go by the old one.
  expect(after[1]).not.toBe(before[1]);
});

test("the log of the run before is kept beside the new one", async () => {
  using home = createTestHome();
  const { context, said } = createContext(home);
  await bringUp(context, said);
  await bringUp(context, said);
  expect(readFileSync(join(home.dataRoot, "logs/host.log.1"), "utf8")).toContain("the stand-in starts");
});

test("a host that ends while starting is reported with the end of its log", async () => {
  using home = createTestHome();
  const { context } = createContext(home, { SAND_LOG_LEVEL: "fail" });
  const failure = await bringUpLocally(context, choice).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CommandFailure);
  expect(String(failure)).toContain("no such luck");
});

test("a provider without a model is refused before anything is started", async () => {
  using home = createTestHome();
  const { context } = createContext(home, { SAND_INFERENCE_PROVIDER: "", OPENROUTER_API_KEY: "k" });
  const failure = await bringUpLocally(context, choice).catch((error: unknown) => error);
  expect(failure).toMatchObject({ exit: "usage", message: expect.stringContaining("SAND_INFERENCE_MODEL") });
  expect(statSync(join(home.dataRoot, "logs"), { throwIfNoEntry: false })).toBe(undefined);
});

test("a token file that others can read is not trusted", async () => {
  using home = createTestHome();
  const { context } = createContext(home);
  writeFileSync(join(home.dataRoot, "gateway.token"), "a-token-that-is-long-enough\n", { mode: 0o644 });
  const failure = await bringUpLocally(context, choice).catch((error: unknown) => error);
  expect(failure).toMatchObject({ exit: "failed", message: expect.stringContaining("only you can read") });
});
