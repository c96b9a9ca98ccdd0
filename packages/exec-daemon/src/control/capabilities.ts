/** Capabilities: what is really enforced here, found by trying, and why the rest is missing. Nothing is promised. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CapabilitiesResponseSchema, CapabilitySchema } from "@sand/protocol/exec";
import type { SandboxMode } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import type { KeeperChoice } from "../keeper/choose-keeper.ts";

type Capability = MessageInitShape<typeof CapabilitySchema>;

const notBuilt = "not built yet";

export function describeCapabilities(
  policy: BoxPolicy,
  mode: SandboxMode,
  ledger: boolean,
  keeper: Pick<KeeperChoice, "whyNoShim" | "whyNoCgroup">,
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
      // Without the shim: no control group, no terminal that outlives the daemon, and 40 MB for each command that runs.
      capability("native-keeper", keeper.whyNoShim === undefined, keeper.whyNoShim ?? ""),
      capability("cgroup", keeper.whyNoCgroup === undefined, keeper.whyNoCgroup ?? ""),
      ...["network-policy", "seccomp", "landlock", "terminals", "displays"].map((name) =>
        capability(name, false, notBuilt),
      ),
    ],
  };
}

function capability(name: string, enforced: boolean, reason: string): Capability {
  return { name, enforced, reason: enforced ? "" : reason };
}
