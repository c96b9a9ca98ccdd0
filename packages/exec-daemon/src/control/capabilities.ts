/** Capabilities: what is really enforced here, found by trying, and why the rest is missing. Nothing is promised. */
import { existsSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CapabilitiesResponseSchema, CapabilitySchema } from "@sand/protocol/exec";
import type { SandboxMode } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";

type Capability = MessageInitShape<typeof CapabilitySchema>;

const notBuilt = "not built yet";

export function describeCapabilities(
  policy: BoxPolicy,
  mode: SandboxMode,
  ledger: boolean,
): MessageInitShape<typeof CapabilitiesResponseSchema> {
  const enclosed = policy.decision.kind === "enclose";
  const whyBare = policy.probe.works ? "SAND_SANDBOX is off" : policy.probe.missing;
  const byEnclosure = [
    "pid-namespace",
    "user-namespace",
    "read-only-root",
    "masked-secrets",
    "dropped-capabilities",
  ];
  return {
    sandboxMode: mode,
    capabilities: [
      ...byEnclosure.map((name) => capability(name, enclosed, whyBare)),
      capability("command-account", policy.user !== undefined, "SAND_BOX_COMMAND_UID is not set"),
      capability("ledger", ledger, "SAND_EXEC_LEDGER is off"),
      capability(
        "cgroup",
        false,
        existsSync("/sys/fs/cgroup/cgroup.controllers") ? notBuilt : "no cgroup v2 is mounted",
      ),
      ...["network-policy", "seccomp", "landlock", "terminals", "displays"].map((name) =>
        capability(name, false, notBuilt),
      ),
    ],
  };
}

function capability(name: string, enforced: boolean, reason: string): Capability {
  return { name, enforced, reason: enforced ? "" : reason };
}
