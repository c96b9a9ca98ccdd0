/** Puts the keepers together for the daemon: the choice, the processes that wait for work, and their end. */
import type { Logger, Scope } from "@sand/node-kit";
import type { DaemonConfig } from "../config.ts";
import { chooseKeeper, type KeeperChoice } from "./choose-keeper.ts";
import { createKeeperPool, type KeeperPool } from "./keeper-pool.ts";

export interface OpenedKeepers extends Pick<KeeperChoice, "whyNoShim" | "whyNoCgroup" | "sweep"> {
  readonly pool: KeeperPool;
}

export interface OpenKeepersDeps {
  readonly config: DaemonConfig;
  readonly selfCommand: readonly [string, ...string[]];
  readonly log: Logger;
  readonly scope: Scope;
}

export async function openKeepers({
  config,
  selfCommand,
  log,
  scope,
}: OpenKeepersDeps): Promise<OpenedKeepers> {
  const env = keeperEnv(config);
  const choice = await chooseKeeper({ mode: config.keeper, dataRoot: config.dataRoot, selfCommand, env });
  const { whyNoShim, whyNoCgroup, sweep } = choice;
  if (whyNoShim !== undefined) {
    log.warn(
      { event: "keeper.node", whyNoShim },
      "commands are kept by Node processes, not by the native shim",
    );
  }
  const pool = createKeeperPool(choice.pool);
  scope.defer(() => {
    pool.close();
    sweep();
  });
  return { pool, whyNoShim, whyNoCgroup, sweep };
}

function keeperEnv(config: DaemonConfig): Readonly<Record<string, string>> {
  const forKeepers = config.failpoint.startsWith("keeper.") ? { SAND_FAILPOINT: config.failpoint } : {};
  return { PATH: config.commandEnv.PATH ?? "", LANG: "C.UTF-8", ...forKeepers };
}
