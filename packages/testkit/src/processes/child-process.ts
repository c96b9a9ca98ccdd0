/**
 * One process under test: started with an environment of its own (nothing is inherited but what is listed), its output
 * kept, ended by its pid only. Disposing it kills it and waits until it's gone, so no test leaves one behind.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartedProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** resolves when the process is gone; never rejects */
  readonly exited: Promise<ProcessExit>;
  /** how it ended, or `undefined` while it runs */
  exit(): ProcessExit | undefined;
  kill(signal: NodeJS.Signals): void;
  /** SIGKILL and wait */
  end(): Promise<ProcessExit>;
  /** what it wrote to both outputs so far, the newest part */
  output(): Promise<string>;
}

export interface StartOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** both outputs are appended here; a file keeps what a killed process wrote, and no pipe can fill up */
  readonly logFile: string;
  readonly nodeArgs?: readonly string[];
}

const outputKeptChars = 20_000;

export function startProcess(options: StartOptions): StartedProcess {
  const log = openSync(options.logFile, "a", 0o600);
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), ...options.args], {
    cwd: options.cwd,
    env: { ...options.env },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${options.name} could not be started`);
  let ended: ProcessExit | undefined;
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) => {
      ended = { code, signal };
      resolve(ended);
    });
  });
  const kill = (signal: NodeJS.Signals) => {
    // A pid is ours only until its exit was seen: afterwards the system may give it to a stranger.
    if (ended === undefined) child.kill(signal);
  };
  const end = () => {
    kill("SIGKILL");
    return exited;
  };
  return {
    name: options.name,
    pid,
    exited,
    exit: () => ended,
    kill,
    end,
    output: async () => (await readFile(options.logFile, "utf8")).slice(-outputKeptChars),
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}
