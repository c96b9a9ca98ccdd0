/**
 * Owns background work and what must be closed after it, so that nothing floats.
 *
 * 1. A task's failure reaches `onError`; it never becomes an unhandled rejection.
 * 2. Closing aborts first, then closes what was deferred in reverse order, then waits for the tasks.
 * 3. Closing never rejects and never waits for ever: what is stuck after the limit is reported by name and left.
 */
export interface Scope extends AsyncDisposable {
  /** aborts when the scope closes */
  readonly signal: AbortSignal;
  /** Starts a task. On a closed scope it does nothing: the work belongs to something that has ended. */
  run(name: string, fn: (signal: AbortSignal) => Promise<void>): void;
  /** Closes `close` with the scope, the latest first. On a closed scope it is called at once. */
  defer(close: () => Promise<void> | void): void;
  /** the same promise for each call */
  close(): Promise<void>;
}

export interface ScopeOptions {
  /** how long closing waits for each closer, and then for all tasks, in `ms` */
  readonly closeMaxMs?: number;
  /** closes this scope's signal too; the owner still calls `close` */
  readonly parent?: AbortSignal;
}

const defaultCloseMaxMs = 10_000;

export function createScope(
  name: string,
  onError: (error: unknown, task: string) => void,
  options: ScopeOptions = {},
): Scope {
  const closeMaxMs = options.closeMaxMs ?? defaultCloseMaxMs;
  const own = new AbortController();
  const signal = options.parent === undefined ? own.signal : AbortSignal.any([own.signal, options.parent]);
  const tasks = new Map<Promise<void>, string>();
  const closers: (() => Promise<void> | void)[] = [];
  let closing: Promise<void> | undefined;

  async function runTask(task: string, fn: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await fn(signal);
    } catch (error) {
      // A task that ends because it was told to end has not failed.
      if (!(signal.aborted && isAbort(error, signal))) onError(error, task);
    }
  }

  async function runCloser(close: () => Promise<void> | void): Promise<void> {
    const task = `${name}: close`;
    try {
      const ended = await endsWithin(Promise.resolve(close()), closeMaxMs);
      if (!ended) onError(new Error(`closing took longer than ${closeMaxMs} ms`), task);
    } catch (error) {
      onError(error, task);
    }
  }

  async function closeAll(): Promise<void> {
    own.abort();
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) await runCloser(close);
    const ended = await endsWithin(Promise.all(tasks.keys()), closeMaxMs);
    if (!ended) {
      for (const task of tasks.values())
        onError(new Error(`did not end within ${closeMaxMs} ms of its abort`), task);
    }
  }

  function close(): Promise<void> {
    closing ??= closeAll();
    return closing;
  }

  return {
    signal,
    run(task, fn) {
      if (closing !== undefined || signal.aborted) return;
      const full = `${name}: ${task}`;
      const running = runTask(full, fn).finally(() => tasks.delete(running));
      tasks.set(running, full);
    },
    defer(closer) {
      if (closing === undefined) closers.push(closer);
      else void runCloser(closer);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === "AbortError");
}

/** False when `work` is still going after `ms`. A rejection passes through; one that comes later is swallowed. */
async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false as const);
  });
  try {
    return await Promise.race([work.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
