/**
 * Starts the host and the exec-daemon, starts them again when they end, and ends them in order. Runs as root with the
 * few capabilities that entrypoint.sh left, which it needs to become another account.
 *
 * 1. The host is an ordinary process of `sand`. Its secrets come through a pipe, never by its environment.
 * 2. The daemon is `sand` too, so that both can use the data root, and keeps three capabilities: to become the
 *    commands' account and to signal it. It hands none of them on.
 * 3. At the end the host goes first, so that nothing new begins; then the daemon; then whatever still runs gets TERM,
 *    and the keepers among it record how their commands ended.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { countFailures, restartDelayMs } from "./restart-policy.mjs";

const sand = 1001;
const privateFolder = "/run/sand";
const tokenFile = `${privateFolder}/daemon.token`;
const credential = `${privateFolder}/inference.json`;
const secretNames = [
  ...["SAND_GATEWAY_TOKEN", "SAND_BOX_EXEC_DAEMON_AUTH_TOKEN", "SAND_INFERENCE_API_KEY"],
  ...["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
  ...["SAND_BOX_STORE_ACCESS_KEY_ID", "SAND_BOX_STORE_SECRET_ACCESS_KEY", "SAND_BOX_STORE_SESSION_TOKEN"],
  ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
];
/** what of the container's environment nobody but the host is told */
const onlyForHost = /^(?:SAND_GATEWAY_|SAND_INFERENCE_|SAND_BACKEND_URL|SAND_BOX_STORE)/;

/** Docker's own patience is ten seconds, so these together are less. */
const hostEndMaxMs = 5000;
const daemonEndMaxMs = 1500;
const commandsEndMaxMs = 2500;
/** the status of a program whose settings are wrong: to start it again would change nothing */
const badSettings = 78;
/** how often a mounted credential is looked at */
const credentialEveryMs = 2000;

const mounted = process.env.SAND_DEV_INFERENCE_TOKEN_FILE ?? "";
const secrets = {};
// Not the commands' home: Node looks for modules below its own.
const shared = { HOME: "/home/box/sand-data", USER: "sand", LOGNAME: "sand" };
shared.SAND_USE_EXISTING_BOX_EXEC_DAEMON = "1";
for (const [name, value] of Object.entries(process.env)) {
  if (!secretNames.includes(name)) shared[name] ??= value;
  else if (value !== "") secrets[name] ??= value;
}
if (mounted !== "") shared.SAND_DEV_INFERENCE_TOKEN_FILE = credential;
// New at each start, and in a file, because what a process starts with stays readable in /proc.
secrets.SAND_BOX_EXEC_DAEMON_AUTH_TOKEN ??= randomBytes(32).toString("hex");
giveFile(tokenFile, `${secrets.SAND_BOX_EXEC_DAEMON_AUTH_TOKEN}\n`);

const programs = [
  { name: "exec-daemon", start: startDaemon },
  { name: "host", start: startHost },
];
let isEnding = false;

function startHost() {
  const child = spawn(process.execPath, [findProgram("sand-host/host-main.cjs")], {
    cwd: "/home/box",
    uid: sand,
    gid: sand,
    env: { ...shared, SAND_SECRETS_FD: "3" },
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  // A host that ends before it has read them says by its exit what is wrong.
  child.stdio[3].on("error", () => undefined).end(JSON.stringify(secrets));
  return child;
}

function startDaemon() {
  const kept = "+setuid,+setgid,+kill";
  const become = [`--reuid=${sand}`, `--regid=${sand}`, "--clear-groups"];
  const keep = [`--inh-caps=-all,${kept}`, `--ambient-caps=-all,${kept}`];
  const env = Object.fromEntries(Object.entries(shared).filter(([name]) => !onlyForHost.test(name)));
  const program = [process.execPath, findProgram("box-exec-daemon/main.cjs")];
  return spawn("/usr/bin/setpriv", [...become, ...keep, ...program], {
    cwd: "/home/box",
    env: {
      SAND_BOX_COMMAND_UID: "1000",
      ...env,
      SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE: tokenFile,
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
}

/** The copy that entrypoint.sh made of one that `sand` can't read, else the program where it belongs. */
function findProgram(name) {
  const copy = `/run/sand-programs/${name}`;
  return existsSync(copy) ? copy : `/home/box/${name}`;
}

function keepRunning(program) {
  const startedMs = performance.now();
  const child = program.start();
  program.child = child;
  program.ended = new Promise((resolve) => {
    const onEnd = (text) => {
      resolve();
      program.child = undefined;
      if (isEnding) return;
      if (text === `status ${badSettings}`) {
        say("program.refused", `${program.name} can't start with these settings; it isn't tried again`);
        return;
      }
      program.failures = countFailures(program.failures ?? 0, performance.now() - startedMs);
      const delayMs = restartDelayMs(program.failures);
      say("program.ended", `${program.name} ended (${text}); it starts again in ${delayMs} ms`);
      program.timer = setTimeout(() => keepRunning(program), delayMs);
    };
    child.once("error", (error) => onEnd(error.message));
    child.once("exit", (code, signal) => onEnd(signal ?? `status ${code}`));
  });
}

/** TERM, and KILL for whoever is still there at the limit. */
async function end(program, maxMs) {
  clearTimeout(program.timer);
  const { child, ended } = program;
  if (child === undefined) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), maxMs);
  await ended;
  clearTimeout(timer);
}

async function endAll(signal) {
  if (isEnding) return;
  isEnding = true;
  say("box.ending", `${signal}: the box ends`);
  const [daemon, host] = programs;
  await end(host, hostEndMaxMs);
  await end(daemon, daemonEndMaxMs);
  await endCommands();
  process.exit(0);
}

/** -1 is everybody but the first process and ourselves. */
async function endCommands() {
  const untilMs = performance.now() + commandsEndMaxMs;
  if (!signalOthers("SIGTERM")) return;
  while (performance.now() < untilMs && signalOthers(0))
    await new Promise((resolve) => setTimeout(resolve, 50));
}

function signalOthers(signal) {
  try {
    return process.kill(-1, signal);
  } catch {
    // Nobody is left.
    return false;
  }
}

/** Keeps the copy of a mounted credential new, where this process may read the mount. */
function renewCredential() {
  try {
    const copied = statSync(credential, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (statSync(mounted).mtimeMs <= copied) return;
    giveFile(credential, readFileSync(mounted));
  } catch {
    // Closed to us, or being replaced just now: the next look may find it.
  }
}

/** Makes a file that only `sand` can read; it appears whole. */
function giveFile(path, content) {
  const fresh = `${path}.new`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, content, { mode: 0o600, flag: "wx" });
  chownSync(fresh, sand, sand);
  renameSync(fresh, path);
}

function say(event, text) {
  process.stdout.write(`${JSON.stringify({ time: Date.now(), name: "supervisor", event, msg: text })}\n`);
}

for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => void endAll(name));
for (const program of programs) keepRunning(program);
if (mounted !== "") setInterval(renewCredential, credentialEveryMs);
