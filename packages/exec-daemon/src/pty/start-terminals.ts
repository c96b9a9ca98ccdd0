/** Puts terminals together: backend, screens, table, port. The daemon starts them by this alone. */
import { join } from "node:path";
import { type Logger, systemClock } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { BoxPolicy } from "../box-policy.ts";
import type { DaemonConfig } from "../config.ts";
import type { OpenedKeepers } from "../keeper/open-keepers.ts";
import { createShimBackend } from "../keeper/shim-backend.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createNodePtyBackend } from "./node-pty-backend.ts";
import { startPtyServer } from "./pty-server.ts";
import { createScreens, type Screens } from "./screens.ts";
import type { TerminalBackend } from "./terminal-backend.ts";
import { createTerminalTable, type TerminalTable } from "./terminal-table.ts";
import { createTickets } from "./tickets.ts";

export interface Terminals {
  readonly port: number;
  readonly table: TerminalTable;
  readonly screens: Screens;
  close(): Promise<void>;
}

export interface TerminalsDeps {
  readonly config: DaemonConfig;
  readonly policy: BoxPolicy;
  readonly log: Logger;
  readonly ledger: Ledger;
  readonly keeper: Pick<OpenedKeepers, "pool" | "whyNoShim">;
  /** this program's file, for the thread of screens */
  readonly entry: string;
}

export async function startTerminals(deps: TerminalsDeps): Promise<Terminals> {
  const { config, policy, log, entry } = deps;
  const backend = chooseBackend(deps);
  const screens = createScreens({ entry, log });
  const table = createTerminalTable({ policy, backend, screens, clock: systemClock, log });
  const tickets = createTickets(systemClock);
  const { host, token, ptyAllowedOrigins: allowedOrigins } = config;
  const start = (port: number) => startPtyServer({ host, port, token, allowedOrigins, table, tickets, log });
  const server = await startSomewhere(config, log, start);
  return {
    port: server.port,
    ...{ table, screens },
    async close() {
      await table.close();
      await server.close();
    },
  };
}

/** The native shim where it runs, since its terminals outlive this daemon and are in the ledger; else node-pty. */
function chooseBackend({ config, ledger, keeper }: TerminalsDeps): TerminalBackend {
  return keeper.whyNoShim === undefined
    ? createShimBackend({ ledger, keepers: keeper.pool, clock: systemClock })
    : createNodePtyBackend({ nativesFolder: join(config.dataRoot, "natives") });
}

/** A port that nobody asked for may be another's; the discovery file then says where we are. */
async function startSomewhere<T>(
  config: DaemonConfig,
  log: Logger,
  start: (port: number) => Promise<T>,
): Promise<T> {
  try {
    return await start(config.ptyPort);
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (!isTaken || config.isPtyPortFixed) throw cannotListen(config, error);
    log.warn(
      { event: "pty.port-taken", port: config.ptyPort },
      "the terminals' port is taken: another one is used",
    );
    return await start(0);
  }
}

function cannotListen({ host, ptyPort }: DaemonConfig, cause: unknown): unknown {
  if (!(cause instanceof Error && "syscall" in cause && cause.syscall === "listen")) return cause;
  const hint = "another program has the port: end it, or set SAND_BOX_PTY_PORT";
  return new BoxError("config/invalid", `can't listen on ${host}:${ptyPort} for terminals`, { cause, hint });
}
