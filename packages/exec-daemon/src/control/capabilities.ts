/** Capabilities: what is really enforced here, found by trying, and why the rest is missing. Nothing is promised. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CapabilitiesResponseSchema, CapabilitySchema } from "@sand/protocol/exec";
import { executorNames, type SandboxMode, type Technique } from "@sand/sandbox-policy";
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
      ...describeEnclosure(policy, whyBare),
      capability("terminals", true, ""),
      capability("displays", false, notBuilt),
    ],
  };
}

/** Each piece by what its own canary found. */
function describeEnclosure(policy: BoxPolicy, whyBare: string): readonly Capability[] {
  const { probe, decision } = policy;
  const isEnclosed = decision.kind === "enclose" && probe.works;
  const piece = (name: string, technique: Technique | undefined): Capability => {
    const missing = technique?.works === false ? technique.missing : undefined;
    return capability(name, isEnclosed && technique?.works === true, missing ?? whyBare);
  };
  const filter = probe.works ? probe.filter : undefined;
  const network = probe.works ? probe.network : undefined;
  return [
    piece("protected-paths", isEnclosed ? { works: true } : undefined),
    piece("seccomp", filter),
    piece("network-namespace", network),
    piece("network-policy", network),
    capability("landlock", false, "not used: the mounts refuse the same and more"),
    ...executorNames.map((name) => {
      const { refusal, rules } = policy.executors[name];
      const isLimited = isEnclosed && rules.network !== "open";
      return capability(
        `network-limited-${name}`,
        isLimited && refusal === undefined,
        refusal ?? (isEnclosed ? "its policy leaves the network open" : whyBare),
      );
    }),
  ];
}

function capability(name: string, enforced: boolean, reason: string): Capability {
  return { name, enforced, reason: enforced ? "" : reason };
}
