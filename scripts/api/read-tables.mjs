/**
 * The command table, the event table and the error table as plain JSON, with names for the shapes that several
 * commands share. Everything that is generated about the API starts here.
 */
import { commandNotes } from "../../packages/protocol/src/commands/command-notes.ts";
import { builtCommands } from "../../packages/protocol/src/commands/command-table.ts";
import { hostSettingsSchema } from "../../packages/protocol/src/commands/settings-commands.ts";
import { asyncTask, subagent } from "../../packages/protocol/src/commands/transcript-commands.ts";
import {
  agentSummary,
  outlineItem,
  transcriptEntry,
  transcriptPage,
} from "../../packages/protocol/src/commands/wire-shapes.ts";
import { errorCodes } from "../../packages/protocol/src/errors.ts";
import { eventTable } from "../../packages/protocol/src/events/event-table.ts";

const shared = {
  TranscriptEntry: transcriptEntry,
  AgentSummary: agentSummary,
  OutlineItem: outlineItem,
  TranscriptPage: transcriptPage,
  HostSettings: hostSettingsSchema,
  Subagent: subagent,
  AsyncTask: asyncTask,
};

/** `{ components, commands, channels, errors }`; a shared shape appears as `{ $ref: "<its name>" }` */
export function readTables() {
  const names = new Map(Object.entries(shared).map(([name, schema]) => [JSON.stringify(schema), name]));
  const components = Object.fromEntries(
    Object.entries(shared).map(([name, schema]) => [name, membersNamed(plain(schema), names)]),
  );
  const commands = Object.entries(builtCommands).map(([name, { request, response }]) => ({
    name,
    note: commandNotes[name],
    request: named(plain(request), names),
    response: named(plain(response), names),
  }));
  const channels = Object.entries(eventTable).map(([name, { payload, byDefault }]) => ({
    name,
    byDefault,
    payload: named(plain(payload), names),
  }));
  const errors = Object.entries(errorCodes).map(([code, row]) => ({
    code,
    http: row.http,
    retry: row.retry,
  }));
  return { components, commands: commands.sort(byName), channels, errors };
}

function byName(one, other) {
  return one.name < other.name ? -1 : 1;
}

function plain(schema) {
  return JSON.parse(JSON.stringify(schema));
}

function named(schema, names) {
  const name = names.get(JSON.stringify(schema));
  return name === undefined ? membersNamed(schema, names) : { $ref: name };
}

function membersNamed(schema, names) {
  if (Array.isArray(schema)) return schema.map((member) => named(member, names));
  if (typeof schema !== "object" || schema === null) return schema;
  const { patternProperties, ...rest } = schema;
  const members = Object.entries(rest).map(([key, value]) => [key, named(value, names)]);
  // A record takes any key, and JSON Schema has a plainer word for that.
  const anyKey = patternProperties?.["^.*$"];
  return {
    ...Object.fromEntries(members),
    ...(anyKey === undefined ? {} : { additionalProperties: named(anyKey, names) }),
  };
}
