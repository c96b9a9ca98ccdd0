/** One thing that a client can ask for, where a mutation begins, and what the fuzz has to know about it. */
import type { JsonObject } from "@sand/protocol";

/** `terminals` is the terminals' port, `e2b` the port that E2B's SDKs speak to */
export type FuzzServer = "gateway" | "daemon" | "terminals" | "e2b";

export interface FuzzTarget {
  /** what the count goes under: a command, a route or a procedure */
  readonly name: string;
  readonly server: FuzzServer;
  readonly method: string;
  readonly path: string;
  /** `undefined` for a request without a body */
  readonly body: JsonObject | undefined;
  /** the answer may be a stream that doesn't end by itself, or come late by its nature */
  readonly isOpenEnded: boolean;
  /** what it sends and gets is framed as Connect's streams are */
  readonly isStreamed?: boolean;
  /** removes or moves what a client names, wherever that lies: its names are kept within the box's own folder */
  readonly isConfined?: boolean;
  /** a WebSocket is opened and frames are sent over it */
  readonly isSocket?: boolean;
}
