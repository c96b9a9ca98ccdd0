/** Runs the `docker` program with a deadline. Its words go back to the caller; nothing secret is ever an argument. */
import { execFile } from "node:child_process";

export interface DockerAnswer {
  readonly ok: boolean;
  readonly stdout: string;
  /** the first lines of what it complained about */
  readonly complaint: string;
}

export type RunDocker = (
  args: readonly string[],
  extraEnvironment?: Readonly<Record<string, string>>,
) => Promise<DockerAnswer>;

const dockerTimeoutMs = 60_000;
const answerMaxBytes = 4 * 1024 * 1024;
const complaintMaxChars = 300;

export function createRunDocker(environment: Readonly<Record<string, string>>): RunDocker {
  return (args, extraEnvironment = {}) =>
    new Promise((resolve) => {
      const options = {
        timeout: dockerTimeoutMs,
        maxBuffer: answerMaxBytes,
        env: { ...environment, ...extraEnvironment },
        encoding: "utf8",
      } as const;
      execFile("docker", [...args], options, (error, stdout, stderr) => {
        const complaint = error === null ? "" : complain(error, stderr);
        resolve({ ok: error === null, stdout: stdout.trim(), complaint });
      });
    });
}

function complain(error: { readonly code?: unknown; readonly message: string }, stderr: string): string {
  if (error.code === "ENOENT") return "docker is not installed";
  return (stderr.trim() || error.message).slice(0, complaintMaxChars);
}
