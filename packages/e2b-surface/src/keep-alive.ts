/** Fills the silence of a stream: whenever nothing came for a while, something is sent, so that nobody takes it for dead. */
import { limits } from "./limits.ts";

const keepaliveHeader = "keepalive-ping-interval";

/** What a client asks for, in seconds, within our bounds. */
export function keepaliveMs(headers: Headers): number {
  const asked = Number(headers.get(keepaliveHeader) ?? "");
  if (!Number.isFinite(asked) || asked <= 0) return limits.keepaliveDefaultMs;
  return Math.min(Math.max(asked * 1000, limits.keepaliveMinMs), limits.keepaliveMaxMs);
}

/** Ends with the events, and ends them when its reader leaves. */
export async function* keepAlive<T>(
  events: AsyncIterable<T>,
  everyMs: number,
  ping: () => T,
): AsyncGenerator<T> {
  const source = events[Symbol.asyncIterator]();
  let next = source.next();
  try {
    for (;;) {
      const result = await within(next, everyMs);
      if (result === undefined) {
        yield ping();
        continue;
      }
      if (result.done === true) return;
      yield result.value;
      next = source.next();
    }
  } finally {
    // One that waits can't be told to stop; what it waits for ends by the request's own signal.
    next.catch(() => undefined);
    void source.return?.().catch(() => undefined);
  }
}

async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
