/**
 * Hands committed events on. A listener that throws has a bug, but the facts are on disk already: their writers must
 * hear that, or they would do it again. So the failure is logged and stops here.
 */
import type { Logger } from "@sand/node-kit";
import type { CommittedEvent } from "@sand/protocol";

type Publish = (events: readonly CommittedEvent[]) => void;

export function publishSafely(publish: Publish, logger: Logger): Publish {
  return (events) => {
    try {
      publish(events);
    } catch (error) {
      logger.error({ event: "store.publish-failed", err: error }, "a listener of committed events failed");
    }
  };
}
