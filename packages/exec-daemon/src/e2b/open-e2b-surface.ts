/**
 * Opens the surface for E2B's SDKs over the daemon's own services. It speaks to them as any client does, without the
 * way through a socket, so nothing that a command or a file may do is decided here.
 *
 * This file is loaded when the surface is asked for, and everything that it needs with it.
 */
import { posix } from "node:path";
import { type ConnectRouter, createClient, createRouterTransport } from "@connectrpc/connect";
import { type AttributePort, startSurface, surfaceVersion } from "@sand/e2b-surface";
import { type Logger, type Scope, systemClock } from "@sand/node-kit";
import { Files, Processes } from "@sand/protocol/exec";
import type { BoxPolicy } from "../box-policy.ts";
import type { DaemonConfig } from "../config.ts";
import { endWhenStalled } from "../end-stalled.ts";
import { limits } from "../limits.ts";
import type { TerminalTable } from "../pty/terminal-table.ts";
import { createErrorInterceptor } from "../rpc-errors.ts";
import { createRpcHandler } from "../rpc-handler.ts";
import { readAccount } from "./choose-account.ts";
import type { E2bConfig } from "./e2b-settings.ts";
import { createFileAttributes } from "./file-attributes.ts";
import { createSurfaceTerminals, endLeftTerminals } from "./surface-terminals.ts";

/** whatever the daemon itself listens on: this surface is for programs of this machine */
const loopback = "127.0.0.1";

export interface E2bDeps {
  readonly config: Pick<DaemonConfig, "token">;
  readonly e2b: E2bConfig;
  readonly policy: BoxPolicy;
  readonly routes: (router: ConnectRouter) => void;
  readonly terminals: TerminalTable;
  readonly log: Logger;
}

export interface OpenedSurface {
  readonly port: number;
  /** what clients may take us for */
  readonly version: string;
}

export async function openE2bSurface(deps: E2bDeps, scope: Scope): Promise<OpenedSurface> {
  const { config, e2b, policy, log } = deps;
  const transport = createRouterTransport(deps.routes, {
    router: {
      interceptors: [createErrorInterceptor(log)],
      readMaxBytes: limits.requestMaxBytes,
      acceptCompression: [],
    },
  });
  const files = createClient(Files, transport);
  const account = readAccount(policy, { name: e2b.user, home: e2b.home });
  const attributes = createFileAttributes(policy.user);
  scope.defer(() => attributes?.close());
  // Before anybody can ask for a new one.
  const left = endLeftTerminals(deps.terminals);
  scope.run("end terminals of an earlier surface", () => left);
  const surface = await startSurface({
    host: loopback,
    port: e2b.port,
    token: config.token,
    ports: {
      ...{ processes: createClient(Processes, transport), files, account, attributes },
      terminals: createSurfaceTerminals(deps.terminals),
    },
    clock: systemClock,
    log,
    createRpcHandler,
    endWhenStalled,
  });
  scope.defer(() => surface.close());
  const version = surfaceVersion({ attributes: await keepsAttributes(files, attributes, account.home) });
  log.info(
    { event: "e2b.started", port: surface.port, version, home: account.home },
    "the E2B surface is ready",
  );
  return { port: surface.port, version };
}

/** Tried, since only the file system itself knows. */
async function keepsAttributes(
  files: ReturnType<typeof createClient<typeof Files>>,
  attributes: AttributePort | undefined,
  home: string,
): Promise<boolean> {
  if (attributes === undefined) return false;
  const path = posix.join(home, `.sand-attributes-${process.pid}`);
  try {
    await files.write({
      path,
      data: new Uint8Array(0),
      operationId: `e2b-attributes-${process.pid}-${Date.now()}`,
    });
    return await attributes.replace(path, { probe: "1" });
  } catch {
    // A home that can't be written keeps nothing.
    return false;
  } finally {
    await files.remove({ path, recursive: false }).catch(() => undefined);
  }
}
