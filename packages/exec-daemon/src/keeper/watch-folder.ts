/**
 * Tells a keeper that the folder of its execution was removed: then nobody is left who could ask for the execution or
 * end it, and a command without a limit would run for as long as the machine does. A folder that was moved is the same
 * folder still.
 */
import { closeSync, fstatSync, openSync } from "node:fs";

export interface FolderWatch {
  /** aborts once, when the folder is gone */
  readonly removed: AbortSignal;
  close(): void;
}

export function watchFolder(folder: string, everyMs: number): FolderWatch {
  const removed = new AbortController();
  const fd = openSync(folder, "r");
  const timer = setInterval(() => {
    if (fstatSync(fd).nlink === 0) removed.abort();
  }, everyMs);
  // It keeps nobody alive; what is waited for does.
  timer.unref();
  return {
    removed: removed.signal,
    close() {
      clearInterval(timer);
      closeSync(fd);
    },
  };
}
