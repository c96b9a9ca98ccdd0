/**
 * What a user sets on an agent's row: read or unread, and the switches of its `settings.json`.
 *
 * The file is written before the row is committed, so a row never shows what a restart would forget.
 */
import type { createKeyedMutex } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import type { AgentSwitches } from "../gateway/host-ports.ts";
import { writeSettings } from "./agent-files.ts";
import type { OpenAgents } from "./open-agents.ts";
import { markUnread, markViewed } from "./roster-state.ts";

export interface AgentSwitchesDeps {
  readonly open: OpenAgents;
  readonly clock: Clock;
  /** shared with the directory, so that no agent is removed in the middle of a change */
  readonly exclusive: ReturnType<typeof createKeyedMutex>;
}

export function createAgentSwitches({ open, clock, exclusive }: AgentSwitchesDeps): AgentSwitches {
  return {
    async setUnread(id, { isUnread, atMs }) {
      const nowMs = clock.nowMs();
      // A client's clock may run ahead; nothing was looked at in the future.
      const viewedAtMs = atMs === null ? null : Math.min(atMs, nowMs);
      await exclusive(id, async () => {
        const handle = await open.open(id);
        await handle.commit((tx) => {
          if (isUnread) markUnread(tx, viewedAtMs);
          else markViewed(tx, viewedAtMs ?? nowMs);
          tx.rosterChanged();
        });
      });
    },
    async changeSettings(id, change) {
      await exclusive(id, async () => {
        const handle = await open.open(id);
        const settings = { ...handle.settings(), ...change };
        await writeSettings(handle.folder, settings);
        handle.setSettings(settings);
        await handle.commit((tx) => tx.rosterChanged());
      });
    },
  };
}
