/**
 * Starts the host as a process of its own, which lives on after `sand up` has ended.
 *
 * Credentials travel through a pipe on descriptor 3 and are gone once the host has read them. They are in no argument
 * list, no environment and no file.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Writable } from "node:stream";
import { CommandFailure } from "../command-failure.ts";
import type { Secrets } from "../config.ts";
import type { HostProgram } from "./locate-programs.ts";

export interface HostSpawn {
  readonly program: HostProgram;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
  readonly cwd: string;
  /** a descriptor for standard output and error, or "inherit" to stay in the foreground */
  readonly output: number | "inherit";
  /** replace the host that runs on the same data root */
  readonly takeOver?: boolean;
}

const secretsFd = 3;

export async function spawnHost(options: HostSpawn): Promise<ChildProcess> {
  const { program, output } = options;
  const child = spawn(
    process.execPath,
    [program.path, ...(options.takeOver === true ? ["--take-over"] : [])],
    {
      cwd: options.cwd,
      env: { ...options.environment, SAND_SECRETS_FD: String(secretsFd) },
      detached: output !== "inherit",
      stdio: ["ignore", output, output, "pipe"],
    },
  );
  const pipe = child.stdio[secretsFd];
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new CommandFailure("failed", `the host could not be started: ${program.path}`, { cause: error });
  }
  if (pipe instanceof Writable) await handOver(pipe, options.secrets);
  return child;
}

async function handOver(pipe: Writable, secrets: Secrets): Promise<void> {
  // A host that ends before it has read them closes the pipe; that it ended is noticed where its health is awaited.
  pipe.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    pipe.once("close", resolve);
    pipe.end(JSON.stringify(secrets), resolve);
  });
  // The host may keep its end for life; ours must not keep this program waiting for that.
  pipe.destroy();
}
