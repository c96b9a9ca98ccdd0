/**
 * What things of the box are started with beyond the daemon's own variables: plain variables for all commands, and
 * secrets for one scope each. Both are in memory only: whoever set them does it again after a restart of the daemon.
 *
 * A secret's value leaves here for the process that it is meant for and in no other way: no call answers with it, and it
 * is in no log and no argument list. The plan of a command that was started with one is on disk in the command's folder,
 * which no command can reach, for as long as the execution is kept.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type {
  RefreshEnvironmentRequest,
  RefreshEnvironmentResponseSchema,
  SyncSecretsRequest,
  SyncSecretsResponseSchema,
} from "@sand/protocol/exec";
import { markerName } from "../ledger/execution-folder.ts";
import { isTrustedName } from "./trusted-name.ts";

export interface BoxEnvironment {
  refresh(request: RefreshEnvironmentRequest): MessageInitShape<typeof RefreshEnvironmentResponseSchema>;
  sync(request: SyncSecretsRequest): MessageInitShape<typeof SyncSecretsResponseSchema>;
  /** the variables that are set now */
  variables(): Readonly<Record<string, string>>;
  /** the secrets of one scope, by name */
  secretsOf(scope: string): Readonly<Record<string, string>>;
  /** what a command of this agent gets: the secrets of all commands and those of the agent */
  commandSecrets(agentId: string): Readonly<Record<string, string>>;
  /** Calls back when a scope's secrets are other ones. */
  onSecrets(changed: (scope: string) => void): void;
}

export const environmentLimits = {
  namesMax: 256,
  nameMaxChars: 256,
  valueMaxBytes: 64 * 1024,
  variablesMaxBytes: 128 * 1024,
  scopesMax: 256,
  /** of all scopes together */
  secretsMaxBytes: 4 * 1024 * 1024,
} as const;

const scopePattern = /^(?:commands|(?:agent|mcp):[A-Za-z0-9_.:-]{1,128})$/u;

export function createBoxEnvironment(): BoxEnvironment {
  let variables: Readonly<Record<string, string>> = {};
  const scopes = new Map<string, Readonly<Record<string, string>>>();
  const listeners: ((scope: string) => void)[] = [];

  function refuseTooMuch(scope: string, values: Readonly<Record<string, string>>): void {
    if (!scopes.has(scope) && scopes.size >= environmentLimits.scopesMax)
      throw new BoxError("exec/too-many", `there can be ${environmentLimits.scopesMax} scopes of secrets`);
    const others = [...scopes].filter(([name]) => name !== scope).map(([, secrets]) => secrets);
    if ([...others, values].map(sizeOf).reduce((a, b) => a + b, 0) > environmentLimits.secretsMaxBytes)
      throw new BoxError("exec/invalid", "the secrets are too large");
  }

  return {
    refresh({ set, unset, replace }) {
      validateValues(set);
      const next = { ...(replace ? {} : variables), ...set };
      for (const name of unset) delete next[name];
      validateNames([...unset, ...Object.keys(next)]);
      if (sizeOf(next) > environmentLimits.variablesMaxBytes)
        throw new BoxError("exec/invalid", "the environment is too large");
      variables = Object.freeze(next);
      return { names: Object.keys(next).sort() };
    },
    sync({ scope, values }) {
      if (!scopePattern.test(scope))
        throw new BoxError("exec/invalid", "the scope is none", {
          hint: "`commands`, `agent:<id>` or `mcp:<server id>`",
        });
      validateNames(Object.keys(values));
      refuseUntrusted(Object.keys(values));
      validateValues(values);
      refuseTooMuch(scope, values);
      const isSame = JSON.stringify(sortedOf(scopes.get(scope) ?? {})) === JSON.stringify(sortedOf(values));
      if (Object.keys(values).length === 0) scopes.delete(scope);
      else scopes.set(scope, Object.freeze({ ...values }));
      if (!isSame) for (const changed of listeners) changed(scope);
      return { names: Object.keys(values).sort() };
    },
    variables: () => variables,
    secretsOf: (scope) => scopes.get(scope) ?? {},
    commandSecrets: (agentId) => ({ ...scopes.get("commands"), ...scopes.get(`agent:${agentId}`) }),
    onSecrets: (changed) => void listeners.push(changed),
  };
}

function validateNames(names: readonly string[]): void {
  if (names.length > environmentLimits.namesMax)
    throw new BoxError("exec/invalid", "there are too many names");
  for (const name of names) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name) || name.length > environmentLimits.nameMaxChars)
      throw new BoxError("exec/invalid", "a name is none that a shell can use");
    if (name === markerName) throw new BoxError("exec/invalid", `${name} is the daemon's own`);
  }
}

function refuseUntrusted(names: readonly string[]): void {
  const untrusted = names.find((name) => !isTrustedName(name));
  if (untrusted !== undefined)
    throw new BoxError("exec/invalid", `${untrusted} can't be the name of a secret`, {
      hint: "it would change how programs are loaded that aren't the command's own",
    });
}

function validateValues(values: Readonly<Record<string, string>>): void {
  for (const value of Object.values(values)) {
    if (value.includes("\0")) throw new BoxError("exec/invalid", "a value holds a NUL");
    if (Buffer.byteLength(value) > environmentLimits.valueMaxBytes)
      throw new BoxError("exec/invalid", "a value is too long");
  }
}

function sortedOf(values: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
}

function sizeOf(values: Readonly<Record<string, string>>): number {
  return Object.entries(values).reduce(
    (sum, [name, value]) => sum + name.length + Buffer.byteLength(value),
    0,
  );
}
