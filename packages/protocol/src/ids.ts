/**
 * Branded identifiers. Mixing two kinds breaks routing or isolation (seed 002), so mixing two must not compile.
 * A brand erases to a plain string: on the wire and in the stores an id is text.
 */
declare const brand: unique symbol;
export type Branded<Name extends string> = string & { readonly [brand]: Name };

/** a named agent; also the name of its folder, so only safe folder names are valid */
export type AgentId = Branded<"AgentId">;
/** one turn of one agent */
export type TurnId = Branded<"TurnId">;
/** our own id of a tool call, derived from agent, turn, step and index; the provider's id is kept beside it */
export type CallId = Branded<"CallId">;
/** an execution in the daemon; derived from a call, so that a restarted host asks for the same one */
export type ExecutionId = Branded<"ExecutionId">;
/** a transcript entry */
export type EntryId = Branded<"EntryId">;
/** one accepted prompt */
export type PromptId = Branded<"PromptId">;
/** the id under which a client may retry a request */
export type ClientNonce = Branded<"ClientNonce">;
/** one request to a model provider, and everything logged about it */
export type RequestId = Branded<"RequestId">;
export type TaskId = Branded<"TaskId">;
export type BoxId = Branded<"BoxId">;
export type DisplayId = Branded<"DisplayId">;

/** Names a string as an id. For parsers and id sources only: elsewhere an id is passed on, not made. */
export function brandId<Id extends Branded<string>>(text: string): Id {
  return text as Id;
}

const unsafeInFolderName = /[/\\\0]/u;

/** True when `text` can be an agent's id: a folder name without separators, dots alone or surrounding blanks. */
export function isSafeAgentId(text: string): text is AgentId {
  if (text.length === 0 || text.length > 200 || text.trim() !== text) return false;
  return text !== "." && text !== ".." && !unsafeInFolderName.test(text);
}
