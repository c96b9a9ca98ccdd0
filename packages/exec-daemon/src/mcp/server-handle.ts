/**
 * One configured server: started when it is first needed, once for all who need it, and again after its end.
 *
 * 1. At most one connection lives at a time; the next isn't opened before all of the last one is gone.
 * 2. Whoever waits for a start waits as long as they said, whatever the server does; the start goes on without them.
 * 3. After a failed start uses are refused for a while that grows, so that a broken server isn't started in a circle.
 */
import { BoxError, type Clock } from "@sand/protocol";
import { createLogRing, type LogRing } from "./log-ring.ts";
import { type Carrier, connectServer, type McpConnection, type ServerAbout } from "./mcp-connection.ts";
import { shorten, toMcpError } from "./mcp-errors.ts";
import { mcpLimits } from "./mcp-limits.ts";
import type { ListKind } from "./sdk.ts";
import type { ServerConfig } from "./server-config.ts";

export type ServerState =
  | { readonly status: "idle"; readonly problem: string }
  | { readonly status: "starting"; readonly connecting: Promise<McpConnection> }
  | { readonly status: "ready"; readonly connection: McpConnection }
  | { readonly status: "closing"; readonly gone: Promise<void> }
  | { readonly status: "failed"; readonly error: BoxError; readonly retryAtMs: number }
  | { readonly status: "login-needed"; readonly error: BoxError };

export interface ServerHandle {
  readonly config: ServerConfig;
  readonly state: ServerState;
  readonly generation: number;
  readonly logRing: LogRing;
  /** what the server said of itself when it was last ready */
  readonly about: ServerAbout | undefined;
  /** The connection, opened if need be. Waits at most `waitMs`. */
  use(waitMs: number, signal?: AbortSignal): Promise<McpConnection>;
  /** Keeps it from being closed as idle. */
  touch(): () => void;
  /** False when nothing was running. Resolves when nothing is left. */
  close(): Promise<boolean>;
  /** Lets the next use start at once, whatever failed before. */
  forgive(): void;
}

export interface ServerHandleDeps {
  readonly clock: Clock;
  readonly open: (config: ServerConfig, logRing: LogRing) => Promise<Carrier>;
  /** The state is another one. */
  readonly onChange: (handle: ServerHandle) => void;
  readonly onListChanged: (handle: ServerHandle, kind: ListKind) => void;
}

export function createServerHandle(config: ServerConfig, deps: ServerHandleDeps): ServerHandle {
  const logRing = createLogRing(mcpLimits.logMaxBytes);
  let state: ServerState = { status: "idle", problem: "" };
  let about: ServerAbout | undefined;
  let [generation, failures, users] = [0, 0, 0];
  let stop = new AbortController();
  let idleTimer: NodeJS.Timeout | undefined;

  function become(next: ServerState): void {
    state = next;
    deps.onChange(handle);
  }

  async function connect(signal: AbortSignal): Promise<McpConnection> {
    const carrier = await deps.open(config, logRing);
    return await connectServer(carrier, {
      startMaxMs: config.startMaxMs,
      signal,
      onListChanged: (kind) => deps.onListChanged(handle, kind),
    });
  }

  function start(): Promise<McpConnection> {
    stop = new AbortController();
    generation += 1;
    const connecting = connect(stop.signal).then(settleReady, settleFailed);
    // A start that nobody waits for any more still has its failure in the state.
    connecting.catch(() => undefined);
    become({ status: "starting", connecting });
    return connecting;
  }

  function settleReady(connection: McpConnection): McpConnection {
    failures = 0;
    about = connection.about;
    become({ status: "ready", connection });
    void connection.ended.then((reason) => finish(connection, reason));
    armIdle();
    return connection;
  }

  function settleFailed(error: unknown): never {
    const known = toMcpError(error);
    failures += 1;
    const waitMs = Math.min(mcpLimits.retryFirstMs * 2 ** (failures - 1), mcpLimits.retryMaxMs);
    if (stop.signal.aborted) become({ status: "idle", problem: "the start was given up" });
    else if (known.code === "mcp/login-needed") become({ status: "login-needed", error: known });
    else become({ status: "failed", error: known, retryAtMs: deps.clock.nowMs() + waitMs });
    throw known;
  }

  /** Everything that ends a connection leads here, its own end as well as ours. */
  function finish(connection: McpConnection, reason: BoxError): Promise<void> {
    if (state.status === "closing") return state.gone;
    clearTimeout(idleTimer);
    const gone = connection.close().then(() => become({ status: "idle", problem: reason.message }));
    become({ status: "closing", gone });
    return gone;
  }

  function armIdle(): void {
    clearTimeout(idleTimer);
    if (config.idleMaxMs === 0 || users > 0) return;
    idleTimer = setTimeout(() => void handle.close(), config.idleMaxMs);
    idleTimer.unref();
  }

  async function current(): Promise<McpConnection> {
    for (;;) {
      switch (state.status) {
        case "ready":
          return state.connection;
        case "starting":
          return await state.connecting;
        case "closing":
          await state.gone;
          break;
        case "login-needed":
          throw state.error;
        case "failed":
          if (deps.clock.nowMs() < state.retryAtMs) throw repeatFailure(state.error);
          return await start();
        case "idle":
          return await start();
      }
    }
  }

  const handle: ServerHandle = {
    config,
    logRing,
    get state() {
      return state;
    },
    get generation() {
      return generation;
    },
    get about() {
      return about;
    },
    use: (waitMs, signal) => within(current(), waitMs, signal),
    touch() {
      users += 1;
      clearTimeout(idleTimer);
      return () => {
        users -= 1;
        if (state.status === "ready") armIdle();
      };
    },
    async close() {
      stop.abort();
      if (state.status === "starting") await state.connecting.catch(() => undefined);
      if (state.status === "ready") {
        await finish(state.connection, new BoxError("mcp/unavailable", "it was closed"));
        return true;
      }
      if (state.status === "closing") await state.gone;
      return false;
    },
    forgive() {
      failures = 0;
      if (state.status === "failed" || state.status === "login-needed")
        become({ status: "idle", problem: "" });
    },
  };
  return handle;
}

function repeatFailure(error: BoxError): BoxError {
  return new BoxError(error.code, `the last start failed: ${shorten(error.message)}`, {
    cause: error,
    hint: "RestartServer starts it at once; ReadServerLog shows what it wrote to its standard error",
  });
}

async function within<T>(work: Promise<T>, waitMs: number, signal?: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new BoxError("mcp/timeout", `the server is still starting after ${waitMs} ms`));
  }, waitMs);
  const onAbort = (): void => reject(asError(signal?.reason));
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    return await Promise.race([work, promise]);
  } finally {
    // Its own failure is in the state; here it may come too late for anyone.
    work.catch(() => undefined);
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("the call was cancelled", { cause: reason });
}
