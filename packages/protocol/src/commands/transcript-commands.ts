/** Commands that read a transcript and the work in progress. */
import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { built } from "./command-row.ts";
import { agentIdField, emptyRequest, outlineItem, transcriptEntry, transcriptPage } from "./wire-shapes.ts";

const limit = Type.Optional(Type.Integer({ minimum: 1 }));
const momentMs = Type.Optional(Type.Number({ minimum: 0 }));
const beforeSeq = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

export const subagent = Type.Object({
  subagentId: Type.String(),
  subagentType: Type.String(),
  title: Type.String(),
  status: Type.String(),
  startedAtMs: Type.Number(),
});
export type Subagent = Static<typeof subagent>;

export const asyncTask = Type.Object({
  kind: Type.Enum(["subagent", "shell", "cloud-agent"]),
  id: Type.String(),
  label: Type.String(),
  status: Type.Literal("running"),
  startedAtMs: Type.Number(),
  detail: Type.Optional(Type.String()),
  subagentType: Type.Optional(Type.String()),
});
export type AsyncTask = Static<typeof asyncTask>;

const entryList = Type.Array(transcriptEntry);

/** a page of the conversation without tool calls and branches; `threadCounts` names entries that were replied to */
const transcriptWindow = Type.Object({
  entries: entryList,
  nextBeforeSeq: Type.Optional(Type.Integer()),
  threadCounts: Type.Optional(Type.Record(Type.String(), Type.Integer())),
});
export type TranscriptWindow = Static<typeof transcriptWindow>;

export const transcriptCommands = {
  getTranscript: built(emptyRequest, entryList),
  getAgentTranscript: built(Type.Object({ id: agentIdField }), entryList),
  getAgentTranscriptPage: built(
    Type.Object({
      id: agentIdField,
      limit: Type.Integer({ minimum: 1 }),
      beforeSeq,
      /** both ends belong to the span */
      sinceMs: momentMs,
      untilMs: momentMs,
    }),
    transcriptPage,
  ),
  getAgentTranscriptWindow: built(Type.Object({ id: agentIdField, limit, beforeSeq }), transcriptWindow),
  getAgentThread: built(
    Type.Object({
      id: agentIdField,
      rootId: Type.String({ minLength: 1, maxLength: limits.nonceMaxLength }),
    }),
    Type.Object({ entries: entryList }),
  ),
  getConversationOutline: built(Type.Object({ id: agentIdField }), Type.Array(outlineItem)),
  openAgent: built(Type.Object({ id: agentIdField }), entryList),
  openAgentWindowed: built(Type.Object({ id: agentIdField, limit }), transcriptWindow),
  getAgentTranscriptTail: built(Type.Object({ id: agentIdField, limit, beforeSeq }), transcriptPage),
  openAgentTail: built(Type.Object({ id: agentIdField, limit }), transcriptPage),
  getSubagents: built(Type.Object({ id: agentIdField }), Type.Array(subagent)),
  getAsyncTasks: built(Type.Object({ id: agentIdField }), Type.Array(asyncTask)),
} as const;

/** how many entries a tail holds: clients may ask for more than the most, and get the most */
export function tailLimit(asked: number | undefined): number {
  return Math.min(asked ?? limits.transcriptTailDefault, limits.transcriptTailMax);
}
