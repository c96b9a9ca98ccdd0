/** Where a resumed event stream reads what the ring in memory no longer holds. */
import type { CommittedEvent } from "@sand/protocol";

export interface ReplaySource {
  /**
   * The oldest `limit` committed events of the whole host with `seq > since`, oldest first, none left out between
   * them; `undefined` when some of those were trimmed, so that the gap must be said. Events that are committed while
   * it reads may or may not be among them.
   */
  eventsSince(since: number, limit: number): Promise<readonly CommittedEvent[] | undefined>;
}
