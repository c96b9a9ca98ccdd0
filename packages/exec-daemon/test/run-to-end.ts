/** One command from its start to its last byte. */
import { randomUUID } from "node:crypto";
import type { Execution } from "@sand/protocol/exec";
import type { TestDaemon } from "./daemon-process.ts";

export interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly execution: Execution | undefined;
}

export async function runToEnd(
  daemon: TestDaemon,
  script: string,
  sandbox: { readonly readOnlyWorkspace?: boolean; readonly withoutNetwork?: boolean } = {},
): Promise<Run> {
  const processId = randomUUID();
  await daemon.processes.start({ processId, command: { case: "shell", value: script }, sandbox });
  const said = { stdout: "", stderr: "" };
  for await (const { event } of daemon.processes.attach({ processId })) {
    const kind = event?.kind;
    if (kind?.case !== "output") continue;
    const name = kind.value.stream === 2 ? "stderr" : "stdout";
    said[name] += Buffer.from(kind.value.data).toString("utf8");
  }
  const { executions } = await daemon.processes.list({});
  return { ...said, execution: executions.find((one) => one.processId === processId) };
}
