/**
 * The one table of commands. Everything that speaks of commands (the gateway's dispatch, the handlers' types, the
 * client) is derived from it.
 */
import type { Static } from "typebox";
import { boxStoreCommands } from "./box-store-commands.ts";
import type { CommandRow } from "./command-row.ts";
import { hostCommands } from "./host-commands.ts";
import { plannedCommandNames } from "./planned-commands.ts";
import { promptingCommands } from "./prompting-commands.ts";
import { rosterCommands } from "./roster-commands.ts";
import { searchCommands } from "./search-commands.ts";
import { settingsCommands } from "./settings-commands.ts";
import { transcriptCommands } from "./transcript-commands.ts";

export const builtCommands = {
  ...rosterCommands,
  ...promptingCommands,
  ...transcriptCommands,
  ...hostCommands,
  ...settingsCommands,
  ...boxStoreCommands,
  ...searchCommands,
} as const;

export type BuiltCommandName = keyof typeof builtCommands;
export type PlannedCommandName = (typeof plannedCommandNames)[number];
export type CommandName = BuiltCommandName | PlannedCommandName;

export type CommandRequest<Name extends BuiltCommandName> = Static<(typeof builtCommands)[Name]["request"]>;
export type CommandResponse<Name extends BuiltCommandName> = Static<(typeof builtCommands)[Name]["response"]>;

const planned: ReadonlySet<string> = new Set(plannedCommandNames);

export function isBuiltCommand(name: string): name is BuiltCommandName {
  return Object.hasOwn(builtCommands, name);
}

/** `undefined` for a name that no client of the contract can know */
export function findCommand(name: string): CommandRow | undefined {
  if (isBuiltCommand(name)) return builtCommands[name];
  return planned.has(name) ? { status: "planned" } : undefined;
}
