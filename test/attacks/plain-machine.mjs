/**
 * A daemon and the attacks on it, in the network namespace that this program was started in: `unshare --net` is around
 * it, so that the addresses which stand for the world outside are only here.
 *
 * node plain-machine.mjs <folder> <required|off> <the daemon's program and arguments …>
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { policyOf } from "./policy.ts";
import { sampleFor } from "./sample.ts";

const startMaxMs = 60_000;
const [folder = "", sandbox = "", ...command] = process.argv.slice(2);
const at = (name) => join(folder, name);

execFileSync("ip", ["link", "set", "lo", "up"]);
for (const address of ["169.254.169.254/32", "10.99.0.1/32", "10.99.0.2/32"])
  execFileSync("ip", ["address", "add", address, "dev", "lo"]);
for (const name of ["workspace", "home", "data"]) mkdirSync(at(name), { recursive: true });
// With the guard off there is no policy either, or every command would be refused.
if (sandbox !== "off") writeFileSync(at("data/policy.json"), JSON.stringify(policyOf(at("home"))));

const token = "planted-token-of-the-daemon";
const [program = "", ...args] = command;
const daemon = spawn(program, args, {
  cwd: folder,
  env: {
    PATH: process.env.PATH,
    HOME: at("home"),
    SAND_DATA_ROOT: at("data"),
    SAND_BOX_WORKSPACE_ROOT: at("workspace"),
    SAND_BOX_EXEC_DAEMON_PORT: "0",
    SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: token,
    SAND_SANDBOX: sandbox,
  },
  stdio: ["ignore", "ignore", "inherit"],
});
const onExit = once(daemon, "exit");
try {
  const port = await awaitPort();
  const settings = {
    ...{
      port,
      token,
      daemonPid: daemon.pid,
      base: at("world"),
      workspace: at("workspace"),
      home: at("home"),
    },
    ...{ dataRoot: at("data"), owner: null, network: true, only: process.env.SAND_ATTACKS_ONLY },
    ...sampleFor(sandbox === "off" ? "off" : "required"),
  };
  writeFileSync(at("settings.json"), JSON.stringify(settings));
  const runner = spawn(
    process.execPath,
    [join(import.meta.dirname, "run-attacks.mjs"), at("settings.json")],
    {
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  const [code] = await once(runner, "exit");
  process.exitCode = code ?? 1;
} finally {
  daemon.kill("SIGTERM");
  await onExit;
}

async function awaitPort() {
  const file = at("data/exec-daemon.json");
  for (const endMs = Date.now() + startMaxMs; Date.now() < endMs; await delay(50)) {
    if (daemon.exitCode !== null) throw new Error(`the daemon ended with ${daemon.exitCode}`);
    if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")).rpcPort;
  }
  throw new Error("the daemon did not answer in time");
}
