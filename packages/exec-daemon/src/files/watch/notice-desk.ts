/**
 * Gathers the kernel's notices until they are looked at. A reader that is slow only makes them gather longer: each
 * folder keeps the names once, and with too many of them none but the need to look at everything.
 */
import { fileLimits } from "../file-limits.ts";
import type { OnNotice, WatchedFolder } from "./watched-folder.ts";

export interface NoticeDesk {
  readonly note: OnNotice;
  /** Folders that something was told of, after a moment for what comes along with it; none when it stayed quiet. */
  take(maxMs: number, signal: AbortSignal): Promise<ReadonlySet<WatchedFolder>>;
}

/** names of one folder; with more it is looked at as a whole */
const namesMax = 4096;

export function createNoticeDesk(): NoticeDesk {
  let dirty = new Set<WatchedFolder>();
  let wake: (() => void) | undefined;

  return {
    note(folder, name) {
      if (folder.isClosed) return;
      if (name === undefined || folder.dirty.size >= namesMax) {
        folder.isUnsure = true;
        folder.dirty.clear();
      } else if (!folder.isUnsure) folder.dirty.add(name);
      dirty.add(folder);
      wake?.();
    },
    async take(maxMs, signal) {
      const isQuiet = dirty.size === 0 && !(await comesWithin(maxMs, signal));
      if (isQuiet || signal.aborted) return new Set();
      await pause(fileLimits.watchSettleMs, signal);
      const taken = dirty;
      dirty = new Set();
      return taken;
    },
  };

  async function comesWithin(maxMs: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await Promise.race([promise, pause(maxMs, signal)]);
    wake = undefined;
    return dirty.size > 0;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const onAbort = (): void => resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
}
