/**
 * Makes sure that there is a box to work in: finds the daemon that runs, or starts one, and says so only after an
 * authenticated ping. An open port proves nothing: something else may listen there, or a process that no longer turns.
 *
 * 1. One attempt at a time; whoever asks meanwhile shares it. A caller that gives up ends its own wait, not the attempt.
 * 2. With `useExisting` nothing is started; the daemon's own supervisor is given the time to.
 * 3. An absent box is a value with a code and a reason, never an exception: turns wait for it visibly.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { createSingleFlight, isSameProcess, type Logger } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import { type ExecDiscovery, execDiscoveryFile, parseExecDiscovery } from "@sand/protocol/exec-discovery";
import type { ReachBox } from "./box-doors.ts";
import type { BoxHealth, BoxKeeper, BoxPort, BoxState } from "./box-port.ts";
import { createDaemonTokens } from "./daemon-tokens.ts";
import { findDaemonProgram, type SpawnedDaemon, spawnDaemon } from "./spawn-daemon.ts";

export interface BoxKeeperDeps {
  readonly exec: {
    readonly host: string;
    /** 0: any; the discovery file then says which */
    readonly port: number;
    readonly token: string | null;
    readonly useExisting: boolean;
    readonly sandbox: "required" | "auto" | "off";
    /** what a daemon that we start inherits */
    readonly env: Readonly<Record<string, string>>;
  };
  readonly dataRoot: string;
  readonly workspaceRoot: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** the daemon's program; found beside this one when absent */
  readonly daemonProgram?: string;
}

interface Address {
  readonly baseUrl: string;
  readonly token: string;
}

function isSame(a: Address, b: Address): boolean {
  return a.baseUrl === b.baseUrl && a.token === b.token;
}

/** how long a daemon that we start, or that its supervisor starts, may take until it answers */
const appearMaxMs = 30_000;
const lookEveryMs = 100;
/** how long a daemon may take to see that the file of its token was changed */
const healMaxMs = 5_000;

export interface ReachableBoxKeeper extends BoxKeeper {
  readonly reach: ReachBox;
}

export function createBoxKeeper(deps: BoxKeeperDeps): ReachableBoxKeeper {
  const tokens = createDaemonTokens(deps.dataRoot, deps.exec.token);
  const once = createSingleFlight<BoxState>();
  const closing = new AbortController();
  // One client for good, which always speaks to the address that answered last: a tool that holds it goes on after the
  // daemon came back on another port.
  let address: Address = { baseUrl: "http://127.0.0.1:9", token: "" };
  let hasAnswered = false;
  /** the process that answered last, by its discovery file */
  let answeredBy: string | undefined;
  // Made with the first question: the library that speaks to the daemon is no part of the host's start.
  let box: BoxPort | undefined;

  /** Undefined when nobody answers at any address that we know. */
  async function look(): Promise<BoxState | undefined> {
    let refusal: BoxState | undefined;
    for (const baseUrl of addresses(deps)) {
      for (const token of tokens.candidates()) {
        const state = await tryOne({ baseUrl, token });
        if (state?.state === "ready") return state;
        refusal ??= state;
      }
    }
    return refusal;
  }

  async function tryOne(tried: Address): Promise<BoxState | undefined> {
    try {
      const { createBoxClient } = await import("./create-box-client.ts");
      const { clock } = deps;
      box ??= createBoxClient({
        baseUrl: () => address.baseUrl,
        token: () => address.token,
        clock,
        recover,
      });
      const client = isSame(tried, address)
        ? box
        : createBoxClient({ baseUrl: () => tried.baseUrl, token: () => tried.token, clock });
      const health = await client.ping(closing.signal);
      if (isForeign(tried, health)) {
        return absent(
          `the exec-daemon at ${tried.baseUrl} works in ${health.workspaceRoot}, another workspace`,
        );
      }
      if (!isSame(tried, address)) deps.logger.info({ event: "box.ready" }, "the exec-daemon answers");
      [address, hasAnswered] = [tried, true];
      answeredBy = processOf(readDiscovered(deps.dataRoot));
      return { state: "ready", box };
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      return error.code === "box/unauthorized"
        ? { state: "absent", code: error.code, reason: error.message }
        : undefined;
    }
  }

  /** Somebody else's daemon may have the usual port, and take the same token when both are bare. */
  function isForeign(tried: Address, health: BoxHealth): boolean {
    // The one that this data root names is ours, wherever it was told to work.
    const isNamed = tried.baseUrl.endsWith(`:${readDiscoveredPort(deps.dataRoot)}`);
    if (deps.exec.useExisting || isNamed) return false;
    return health.workspaceRoot !== realFolder(deps.workspaceRoot);
  }

  async function recover(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await ensure();
  }

  async function find(): Promise<BoxState> {
    try {
      const found = await lookUntilHealed();
      if (found !== undefined) return found;
      const daemon = deps.exec.useExisting ? undefined : await start();
      return await awaitAnswer(daemon);
    } catch (error) {
      if (closing.signal.aborted) return absent("the host is shutting down");
      const reason = error instanceof Error ? error.message : String(error);
      deps.logger.error({ event: "box.failed", err: error }, "the exec-daemon could not be found or started");
      return absent(reason);
    }
  }

  /** A daemon of ours that refuses us mends the file of its token within moments. */
  async function lookUntilHealed(): Promise<BoxState | undefined> {
    const untilMs = deps.clock.nowMs() + healMaxMs;
    for (;;) {
      const found = await look();
      const isRefused = found?.state === "absent" && found.code === "box/unauthorized";
      const isOurs = !deps.exec.useExisting && readDiscoveredPort(deps.dataRoot) !== undefined;
      if (!isRefused || !isOurs || deps.exec.token !== null || deps.clock.nowMs() > untilMs) return found;
      await deps.clock.sleep(lookEveryMs, closing.signal);
    }
  }

  async function start(): Promise<SpawnedDaemon> {
    const program = deps.daemonProgram ?? findDaemonProgram(process.argv[1] ?? "");
    const { path: tokenFile } = await tokens.prepareFile();
    const { dataRoot, workspaceRoot } = deps;
    const { host, port, sandbox, env } = deps.exec;
    const daemon = spawnDaemon(program, { dataRoot, workspaceRoot, host, port, sandbox, tokenFile, env });
    deps.logger.info({ event: "box.starting", pid: daemon.pid }, "starting the exec-daemon");
    return daemon;
  }

  async function awaitAnswer(daemon: SpawnedDaemon | undefined): Promise<BoxState> {
    const untilMs = deps.clock.nowMs() + appearMaxMs;
    while (deps.clock.nowMs() < untilMs && !closing.signal.aborted) {
      await deps.clock.sleep(lookEveryMs, closing.signal);
      const state = await look();
      if (state !== undefined) return state;
      const lastWords = daemon?.ended();
      if (lastWords !== undefined) return absent(`the exec-daemon ended at its start: ${lastWords}`);
    }
    return absent(
      deps.exec.useExisting
        ? "no exec-daemon answers, and we may not start one"
        : "the exec-daemon did not answer in time",
    );
  }

  function ensure(): Promise<BoxState> {
    return once("box", find);
  }

  /** Asked for each relayed call, so a daemon that has answered and still lives isn't asked again. */
  const reach: ReachBox = async (signal) => {
    const known = readDiscovered(deps.dataRoot);
    if (known === undefined || !hasAnswered || processOf(known) !== answeredBy) {
      const state = await orAborted(ensure(), signal);
      if (state.state === "absent") return state;
    }
    const { hostname, port } = new URL(address.baseUrl);
    const ptyPort = readDiscovered(deps.dataRoot)?.ptyPort;
    const host = hostname.replace(/^\[|\]$/gu, "");
    return { state: "ready", doors: { host, rpcPort: Number(port), ptyPort, token: address.token } };
  };

  return {
    reach,
    async ensure(signal) {
      signal?.throwIfAborted();
      return await orAborted(ensure(), signal);
    },
    peek: () => (hasAnswered ? (box ?? null) : null),
    async close() {
      closing.abort();
      await once("box", async () => absent("the host is shutting down"));
    },
  };
}

function absent(reason: string): BoxState {
  return { state: "absent", code: "box/unavailable", reason };
}

/** The daemon makes a workspace that isn't there; until then its name is all that there is. */
function realFolder(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Where a daemon may be: where its discovery file says, if that process lives, and where the settings say. */
function addresses(deps: BoxKeeperDeps): readonly string[] {
  const host = deps.exec.host === "0.0.0.0" ? "127.0.0.1" : deps.exec.host;
  const ports = [readDiscoveredPort(deps.dataRoot), deps.exec.port].filter(
    (port) => port !== undefined && port !== 0,
  );
  return [...new Set(ports)].map((port) => `http://${host.includes(":") ? `[${host}]` : host}:${port}`);
}

function readDiscoveredPort(dataRoot: string): number | undefined {
  return readDiscovered(dataRoot)?.rpcPort;
}

function readDiscovered(dataRoot: string): ExecDiscovery | undefined {
  try {
    const discovery = parseExecDiscovery(readFileSync(join(dataRoot, execDiscoveryFile), "utf8"));
    return discovery !== undefined && isSameProcess(discovery) ? discovery : undefined;
  } catch {
    // No daemon has written one, or it has just ended.
    return undefined;
  }
}

function processOf(discovery: ExecDiscovery | undefined): string | undefined {
  return discovery === undefined ? undefined : `${discovery.pid} ${discovery.startTime}`;
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
