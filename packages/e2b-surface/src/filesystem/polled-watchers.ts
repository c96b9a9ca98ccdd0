/**
 * Watchers for clients that hold no stream: they are made, asked from time to time, and removed. Each holds a bounded
 * number of events; one that nobody asks for a while is removed.
 */
import { randomUUID } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { limits } from "../limits.ts";
import { notFound, toSurfaceError } from "../surface-error.ts";
import type { WatchEvent, WatchRequest, WatchStep } from "./watch-events.ts";

export interface PolledWatchers {
  /** Resolves when it watches. */
  create(request: WatchRequest): Promise<string>;
  /** What came since the last question. */
  take(watcherId: string): WatchEvent[];
  remove(watcherId: string): void;
  close(): void;
}

export interface PolledWatcherDeps {
  readonly watch: (request: WatchRequest, signal: AbortSignal) => AsyncIterable<WatchStep>;
  readonly later: (ms: number, work: () => Promise<void>) => { stop(): void };
}

interface Watcher {
  readonly ending: AbortController;
  events: WatchEvent[];
  failure: ConnectError | undefined;
  idle: { stop(): void };
}

export function createPolledWatchers(deps: PolledWatcherDeps): PolledWatchers {
  const watchers = new Map<string, Watcher>();

  function remove(id: string): void {
    const watcher = watchers.get(id);
    watcher?.idle.stop();
    watcher?.ending.abort();
    watchers.delete(id);
  }

  const startIdle = (id: string): { stop(): void } =>
    deps.later(limits.watcherIdleMaxMs, async () => remove(id));

  function find(id: string): Watcher {
    const watcher = watchers.get(id);
    if (watcher === undefined) throw notFound("there is no such watcher");
    return watcher;
  }

  async function fill(watcher: Watcher, request: WatchRequest, onStarted: () => void): Promise<void> {
    try {
      for await (const step of deps.watch(request, watcher.ending.signal)) {
        if (step.kind === "started") onStarted();
        else if (watcher.events.length < limits.watcherEventsMax) watcher.events.push(step.event);
        else watcher.failure ??= new ConnectError("changes were missed: ask more often", Code.DataLoss);
      }
    } catch (error) {
      if (!watcher.ending.signal.aborted) watcher.failure = toSurfaceError(error);
    }
  }

  return {
    async create(request) {
      if (watchers.size >= limits.watchersMax)
        throw new ConnectError(`${limits.watchersMax} watchers are open`, Code.ResourceExhausted);
      const id = randomUUID();
      const watcher: Watcher = {
        ...{ ending: new AbortController(), events: [], failure: undefined },
        idle: startIdle(id),
      };
      watchers.set(id, watcher);
      const { promise: started, resolve } = Promise.withResolvers<void>();
      await Promise.race([started, fill(watcher, request, resolve)]);
      if (watcher.failure === undefined) return id;
      remove(id);
      throw watcher.failure;
    },
    take(id) {
      const watcher = find(id);
      watcher.idle.stop();
      watcher.idle = startIdle(id);
      const { events, failure } = watcher;
      watcher.events = [];
      // What was seen is handed over first; the failure comes with the next question.
      if (events.length > 0 || failure === undefined) return events;
      remove(id);
      throw failure;
    },
    remove(id) {
      find(id);
      remove(id);
    },
    close() {
      for (const id of [...watchers.keys()]) remove(id);
    },
  };
}
