/** Shows how far a rebuild of the search is, until it is done. */
import { setTimeout as pause } from "node:timers/promises";
import { CommandFailure } from "../command-failure.ts";
import type { GatewayClient } from "../gateway/gateway-client.ts";
import type { Terminal } from "../terminal.ts";
import { readSearchStatus } from "./search-answers.ts";

/** between two looks, in `ms` */
const lookMs = 500;

export async function followRebuild(client: GatewayClient, terminal: Terminal): Promise<void> {
  let told = "";
  for (;;) {
    const status = readSearchStatus(await client.call("getSearchStatus", {}));
    if (status.state === "unavailable") {
      throw new CommandFailure("serverError", "the host can't make the index now", {
        hint: "it tries again by itself; sand logs tells why",
      });
    }
    if (status.state === "ready") {
      if (terminal.json) terminal.result(status);
      else terminal.line(`the search knows all of ${status.agentsTotal} agents`);
      return;
    }
    const now = `${status.agentsDone} of ${status.agentsTotal} agents`;
    if (now !== told) terminal.note(now);
    told = now;
    await pause(lookMs);
  }
}
