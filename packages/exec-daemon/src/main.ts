/**
 * The exec-daemon's program. One file plays four roles: `daemon` (the default) serves the host, `keeper` keeps one
 * execution and outlives the daemon, `files` does file operations as another account, `screens` is a thread of the
 * daemon that draws terminals. The last three load nothing of the daemon.
 */
import { writeSync } from "node:fs";

async function runDaemon(): Promise<void> {
  const { readDaemonConfig } = await import("./config.ts");
  const { createLogger } = await import("@sand/node-kit");
  const { startDaemon } = await import("./start-daemon.ts");
  const config = readDaemonConfig();
  const log = createLogger({ name: "exec-daemon", level: config.logLevel });
  const daemon = await startDaemon({ config, log, selfCommand: [process.execPath, process.argv[1] ?? ""] });
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => resolve(name));
  const signal = await promise;
  log.info({ event: "daemon.ending", signal }, "ending; running commands go on");
  await daemon.close();
}

async function runKeeperRole(): Promise<void> {
  const { armFailpoints } = await import("@sand/node-kit");
  const { readKeeperFailpoint } = await import("./config.ts");
  armFailpoints(readKeeperFailpoint());
  const { runKeeper } = await import("./keeper/run-keeper.ts");
  await runKeeper();
}

async function runFilesRole(): Promise<void> {
  const { runFileRole } = await import("./files/run-file-role.ts");
  await runFileRole();
}

async function runScreensRole(): Promise<void> {
  const { runScreenRole } = await import("./pty/screen-role.ts");
  await runScreenRole();
}

function chooseRole(name: string | undefined): () => Promise<void> {
  if (name === "keeper") return runKeeperRole;
  if (name === "screens") return runScreensRole;
  return name === "files" ? runFilesRole : runDaemon;
}

/** The process's top: what arrives here ends it, with one line that says what to do. */
async function main(): Promise<number> {
  try {
    await chooseRole(process.argv[2])();
    return 0;
  } catch (error) {
    const hint =
      error instanceof Error && "hint" in error && typeof error.hint === "string" ? ` (${error.hint})` : "";
    const text = error instanceof Error ? error.message : String(error);
    writeSync(2, `exec-daemon: ${text}${hint}\n`);
    return 1;
  }
}

void main().then((code) => process.exit(code));
