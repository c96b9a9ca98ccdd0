/** The Policy service: the rules with their reasons, and advice about a command. Nothing is decided here. */
import type { ConnectRouter } from "@connectrpc/connect";
import { BoxError } from "@sand/protocol";
import { Policy } from "@sand/protocol/exec";
import { adviseCommand, executorNames, type PolicyReason } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import { encloserOf } from "./encloser.ts";

const commandMaxChars = 96 * 1024;
/** long lists of hidden places and hooks; the rest is left out */
const rowsMax = 1000;

export function registerPolicyRoutes(router: ConnectRouter, policy: BoxPolicy): void {
  router.service(Policy, {
    explain: (request) => explain(policy, request.executor || "shell"),
    async advise(request) {
      if (request.command.length > commandMaxChars)
        throw new BoxError("exec/invalid", "the command is too long");
      const { isUnderstood, isDynamic, programs, redirects, deletes, network } = await adviseCommand(
        request.command,
      );
      return {
        ...{ understood: isUnderstood, dynamic: isDynamic, programs: [...programs], deletes: [...deletes] },
        ...{ network: [...network], redirects: redirects.map(({ path, kind }) => ({ path, kind })) },
      };
    },
  });
}

function explain(policy: BoxPolicy, name: string) {
  const executor = executorNames.find((candidate) => candidate === name);
  if (executor === undefined)
    throw new BoxError("exec/invalid", `there is no executor ${name.slice(0, 40)}`, {
      hint: `it is one of ${executorNames.join(", ")}`,
    });
  const { rules, hash, refusal = "" } = policy.executors[executor];
  return {
    ...{ policyHash: hash, refusal, workspace: rules.workspace, reads: rules.reads },
    ...{ temporary: rules.temporary, network: rules.network, domains: [...rules.domains] },
    ...{ deniedDomains: [...rules.deniedDomains], privateHosts: [...rules.privateHosts] },
    reasons: rules.reasons.slice(0, rowsMax).map(toRow),
    protectedPaths: encloserOf(policy).closedTo(executor).slice(0, rowsMax),
  };
}

const toRow = ({ rule, value, layer, outcome, because }: PolicyReason) => ({
  ...{ rule, value, layer, because },
  applied: outcome === "applied",
});
