/**
 * Starts the daemon's program detached: it outlives this host, as the commands outlive both. It gets a clean
 * environment with the settings that it needs; its token comes from a file, never from the environment or an argument.
 */
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BoxError } from "@sand/protocol";

export interface DaemonSettings {
  readonly dataRoot: string;
  readonly workspaceRoot: string;
  readonly host: string;
  readonly port: number;
  readonly sandbox: string;
  readonly tokenFile: string;
  /** what it inherits by name: paths, language, home */
  readonly env: Readonly<Record<string, string>>;
}

export interface SpawnedDaemon {
  readonly pid: number;
  /** set when it has ended: what it said last */
  readonly ended: () => string | undefined;
}

const lastWordsMaxChars = 500;

export function spawnDaemon(program: string, settings: DaemonSettings): SpawnedDaemon {
  const logPath = join(settings.dataRoot, "exec-daemon.log");
  // Only the latest start's log is kept: the file can't grow over many starts.
  const log = openSync(logPath, "w", 0o600);
  let ended: string | undefined;
  try {
    const child = spawn(process.execPath, [program], {
      cwd: settings.dataRoot,
      detached: true,
      stdio: ["ignore", log, log],
      env: {
        ...settings.env,
        SAND_DATA_ROOT: settings.dataRoot,
        SAND_BOX_WORKSPACE_ROOT: settings.workspaceRoot,
        BOX_EXEC_DAEMON_HOST: settings.host,
        SAND_BOX_EXEC_DAEMON_PORT: String(settings.port),
        SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE: settings.tokenFile,
        SAND_SANDBOX: settings.sandbox,
      },
    });
    child.on("error", (error) => {
      ended = error.message;
    });
    child.on("exit", () => {
      ended = lastWords(logPath);
    });
    child.unref();
    return { pid: child.pid ?? 0, ended: () => ended };
  } finally {
    closeSync(log);
  }
}

/** Called from an event, where a throw would end the host: a log that is gone has no last words. */
function lastWords(logPath: string): string {
  try {
    const lines = readFileSync(logPath, "utf8").trim().split("\n");
    return lines.at(-1)?.slice(0, lastWordsMaxChars) ?? "";
  } catch {
    return "its log is gone";
  }
}

/** Beside the host's bundle, beside its folder (as in the image), or among the sources. */
export function findDaemonProgram(hostProgram: string): string {
  const folder = dirname(hostProgram);
  const places = [
    join(folder, "box-exec-daemon", "main.cjs"),
    join(folder, "..", "box-exec-daemon", "main.cjs"),
    join(folder, "..", "..", "exec-daemon", "src", "main.ts"),
  ];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) {
    throw new BoxError(
      "box/unavailable",
      `the exec-daemon's program isn't where it belongs: ${places[0] ?? ""}`,
      {
        hint: "build it, or start a daemon and set SAND_USE_EXISTING_BOX_EXEC_DAEMON=1",
      },
    );
  }
  return found;
}
