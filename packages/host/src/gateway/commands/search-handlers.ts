/** Commands that search over all agents. */
import { limits } from "@sand/protocol";
import type { CommandHandlers } from "../command-handlers.ts";
import type { SearchDesk } from "../host-ports.ts";

type SearchHandlers = Pick<
  CommandHandlers,
  "searchAgents" | "searchMedia" | "getSearchStatus" | "rebuildSearch" | "isGlobalSearchEnabled"
>;

export function createSearchHandlers(search: SearchDesk): SearchHandlers {
  return {
    searchAgents: async ({ query, limit }) => [...(await search.searchMessages(query, hitLimit(limit)))],
    searchMedia: async ({ query, limit }) => [...(await search.searchMedia(query, hitLimit(limit)))],
    getSearchStatus: async () => search.status(),
    async rebuildSearch() {
      search.rebuild();
      return null;
    },
    isGlobalSearchEnabled: async () => true,
  };
}

/** More than a search answers is as much as it answers. */
function hitLimit(limit: number | undefined): number {
  return Math.min(Math.trunc(limit ?? limits.searchHitsDefault), limits.searchHitsMax);
}
