/** The programs that a host stands on: Node, bubblewrap, and Docker for who wants the box as a container. */
import { describeBox, probeBox } from "../box-container/probe-box.ts";
import { createRunDocker } from "../box-container/run-docker.ts";
import type { CliConfig } from "../config.ts";
import { describeProbe, probeSandbox, sandboxHint } from "../local-host/probe-sandbox.ts";
import type { Finding } from "./finding.ts";

const nodeLeastMajor = 22;

export function checkNode(version: string): Finding {
  const major = Number(version.split(".")[0]);
  if (major >= nodeLeastMajor) return { subject: "node", severity: "ok", text: `Node ${version}` };
  return {
    subject: "node",
    severity: "fail",
    text: `Node ${version} is too old`,
    hint: `use Node ${nodeLeastMajor} or newer`,
  };
}

export async function checkSandbox(config: CliConfig): Promise<Finding> {
  const probe = await probeSandbox(config.childEnvironment);
  const text = describeProbe(probe);
  if (probe.kind === "works") return { subject: "sandbox", severity: "ok", text };
  const wanted = config.sandbox ?? "required";
  return { subject: "sandbox", severity: wanted === "required" ? "fail" : "warn", text, hint: sandboxHint };
}

/** Without a container the box is local processes, which is a way of its own and no fault. */
export async function checkDocker(config: CliConfig): Promise<Finding> {
  const probe = await probeBox(createRunDocker(config.childEnvironment), config.image);
  const text = describeBox(probe, config.image);
  if (probe.kind === "ready") return { subject: "docker", severity: "ok", text };
  return { subject: "docker", severity: "ok", text: `${text}; the box will be local processes` };
}
