/** Commands about the box store. */
import type { CommandHandlers } from "../command-handlers.ts";
import type { BoxStoreDesk } from "../host-ports.ts";

type BoxStoreHandlers = Pick<
  CommandHandlers,
  "getBoxStoreStatus" | "snapshotBoxStoreNow" | "clearBoxStoreNow"
>;

export function createBoxStoreHandlers(boxStore: BoxStoreDesk): BoxStoreHandlers {
  return {
    getBoxStoreStatus: async () => boxStore.status(),
    snapshotBoxStoreNow: () => boxStore.snapshot(),
    clearBoxStoreNow: () => boxStore.clear(),
  };
}
