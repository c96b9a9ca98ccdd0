/**
 * How a client that comes (again) is brought up to date. Pure.
 *
 * Old bytes are right only on a screen of the size that they were printed for: lines that were broken at 80 columns
 * stand wrong at 120. So bytes are sent only where nothing has changed its size since; else a picture is.
 */
import type { OutputRing } from "./output-ring.ts";
import type { TerminalSize } from "./terminal-backend.ts";

export type Replay =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly from: number }
  | { readonly kind: "snapshot" };

export interface ReplayQuestion {
  readonly ring: Pick<OutputRing, "start" | "end" | "isOneSizeSince">;
  /** the client's place; undefined when it has none */
  readonly since: number | undefined;
  /** the client's own size, if it has told one */
  readonly seen: TerminalSize | undefined;
  readonly actual: TerminalSize;
}

export function decideReplay({ ring, since, seen, actual }: ReplayQuestion): Replay {
  if (ring.end === 0) return { kind: "none" };
  const isKept = since !== undefined && since >= ring.start && since <= ring.end;
  const isSameSize = seen === undefined || (seen.cols === actual.cols && seen.rows === actual.rows);
  if (!isKept || !isSameSize || !ring.isOneSizeSince(since)) return { kind: "snapshot" };
  return since === ring.end ? { kind: "none" } : { kind: "bytes", from: since };
}
