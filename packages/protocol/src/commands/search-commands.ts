/** Commands that search over all agents. What they find lies in a projection, which may be behind for a moment. */
import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { built } from "./command-row.ts";
import { emptyRequest, voidAnswer } from "./wire-shapes.ts";

const searchRequest = Type.Object({
  query: Type.String({ maxLength: limits.searchQueryMaxLength }),
  limit: Type.Optional(Type.Number({ minimum: 0 })),
});

const searchHit = Type.Object({
  agentId: Type.String(),
  entryId: Type.String(),
  role: Type.Enum(["user", "assistant"]),
  timestampMs: Type.Number(),
  snippet: Type.String(),
});
export type SearchHit = Static<typeof searchHit>;

const nullableNumber = Type.Union([Type.Number(), Type.Null()]);

const mediaHit = Type.Object({
  agentId: Type.String(),
  entryId: Type.String(),
  fileName: Type.String(),
  ext: Type.String(),
  mime: Type.Union([Type.String(), Type.Null()]),
  kind: Type.String(),
  timestampMs: Type.Number(),
  width: nullableNumber,
  height: nullableNumber,
});
export type MediaHit = Static<typeof mediaHit>;

/** ours: how far the index is behind what agents hold */
const searchStatus = Type.Object({
  state: Type.Enum(["ready", "catching-up", "rebuilding", "unavailable"]),
  agentsDone: Type.Integer(),
  agentsTotal: Type.Integer(),
});
export type SearchStatus = Static<typeof searchStatus>;

export const searchCommands = {
  searchAgents: built(searchRequest, Type.Array(searchHit)),
  searchMedia: built(searchRequest, Type.Array(mediaHit)),
  getSearchStatus: built(emptyRequest, searchStatus),
  rebuildSearch: built(emptyRequest, voidAnswer),
} as const;
