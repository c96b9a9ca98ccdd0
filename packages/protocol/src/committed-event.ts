/**
 * Events on their way to clients. A committed event is a fact that lies in a store and has a host-wide `seq`; a
 * transient one is safe to lose (a token delta, a repeated summary) and has none.
 */
import type { JsonObject } from "./json.ts";

export interface CommittedEvent {
  /** host-wide, rising in commit order */
  readonly seq: number;
  readonly channel: string;
  readonly payload: JsonObject;
}

export interface TransientEvent {
  readonly seq: null;
  readonly channel: string;
  readonly payload: JsonObject;
}

export type HostEvent = CommittedEvent | TransientEvent;
