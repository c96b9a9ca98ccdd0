/**
 * What a wire format gives to the scripted model: how a request is read and judged, and how a reply is written.
 *
 * Scripts, faults and the log know nothing of formats; each format lies in its own folder with the same file names.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import type { ModelReply } from "./model-script.ts";

/** the parts of a request that scripts and the log look at */
export interface RequestView {
  readonly model: string;
  readonly stream: boolean;
  readonly lastUserText: string;
  /** assistant messages since the last user text */
  readonly step: number;
  /** texts of the tool results since the last user text */
  readonly toolResults: readonly string[];
  readonly userTexts: readonly string[];
}

export interface ReplyIdentity {
  /** hex, made from the request's bytes */
  readonly digest: string;
  readonly model: string;
  readonly includeUsage: boolean;
}

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface WireFormat {
  readonly path: string;
  view(body: JsonObject): RequestView;
  includesUsage(body: JsonObject): boolean;
  /** what a provider would refuse, or should */
  judge(body: JsonObject, headers: RequestHeaders): readonly string[];
  hasKey(headers: RequestHeaders, apiKey: string): boolean;
  encodeFrames(reply: ModelReply, identity: ReplyIdentity): readonly string[];
  encodeBody(reply: ModelReply, identity: ReplyIdentity): JsonObject;
  /** one frame with this text as its data */
  frame(text: string): string;
  errorBody(error: JsonValue): JsonObject;
}
