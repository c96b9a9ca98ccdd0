/** Where the daemon's own ports are, for who relays to them. It is asked before each call: a daemon may have moved. */
import type { ErrorCode } from "@sand/protocol";

export interface BoxDoors {
  readonly host: string;
  readonly rpcPort: number;
  /** absent: a daemon that doesn't say */
  readonly ptyPort: number | undefined;
  readonly token: string;
}

export type BoxReach =
  | { readonly state: "ready"; readonly doors: BoxDoors }
  | { readonly state: "absent"; readonly code: ErrorCode; readonly reason: string };

/** Starts the daemon where nobody answers; one attempt at a time, which all callers share. */
export type ReachBox = (signal?: AbortSignal) => Promise<BoxReach>;
