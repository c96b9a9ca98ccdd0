/** Runs `sand` as a process, from its sources, in a home of its own and without anything of the caller's environment. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SandProcess {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Promise<Ran>;
}

export interface TestHome extends Disposable {
  readonly folder: string;
  readonly dataRoot: string;
  readonly environment: Readonly<Record<string, string>>;
  start(words: readonly string[], options?: RunOptions): SandProcess;
  run(words: readonly string[], options?: RunOptions): Promise<Ran>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly program?: string;
}

const sources = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const runMaxMs = 60_000;

export function createTestHome(): TestHome {
  const folder = mkdtempSync(join(tmpdir(), "sand-cli-"));
  const dataRoot = join(folder, "data");
  const workspace = join(folder, "workspace");
  mkdirSync(dataRoot, { mode: 0o700 });
  mkdirSync(workspace);
  const environment = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    SAND_DATA_ROOT: dataRoot,
    SAND_BOX_WORKSPACE_ROOT: workspace,
    SAND_INFERENCE_PROVIDER: "offline",
    // Not the box of whoever runs the tests, where there is one.
    SAND_IMAGE: "sand-test:none",
    SAND_BOX_EXEC_DAEMON_PORT: "0",
    SAND_BOX_PTY_PORT: "0",
  };
  const start = (words: readonly string[], options: RunOptions = {}): SandProcess => {
    const child = spawn(process.execPath, [options.program ?? sources, ...words], {
      cwd: workspace,
      env: { ...environment, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
      timeout: runMaxMs,
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdin.on("error", () => undefined);
    if (options.input !== undefined) child.stdin.end(options.input);
    const ended = new Promise<Ran>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, stdout, stderr }));
    });
    return { child, ended, stdout: () => stdout, stderr: () => stderr };
  };
  return {
    folder,
    dataRoot,
    environment,
    start,
    run: (words, options = {}) => start(words, { input: "", ...options }).ended,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

export async function waitFor(what: string, isSo: () => boolean, limitMs = 60_000): Promise<void> {
  const endMs = Date.now() + limitMs;
  while (!isSo()) {
    if (Date.now() > endMs) throw new Error(`waited ${limitMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
