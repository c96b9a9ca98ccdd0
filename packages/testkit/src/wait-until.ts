/**
 * Waiting for a condition with a deadline, instead of sleeping for a time that is too short on a busy machine and too
 * long on a quiet one. The error names what was waited for and what was seen last.
 */
import { setTimeout as delay } from "node:timers/promises";

export interface WaitOptions {
  readonly deadlineMs: number;
  /** pause between two looks, in `ms` */
  readonly everyMs?: number;
  /** added to the error, so that a failed wait explains itself */
  readonly describe?: () => string;
}

/** Resolves with the first value that isn't `undefined` or `false`. A look that throws ends the wait. */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions,
): Promise<T> {
  const endMs = Date.now() + options.deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() >= endMs) {
      const detail = options.describe === undefined ? "" : `: ${options.describe()}`;
      throw new Error(`waited ${options.deadlineMs} ms for ${what}${detail}`);
    }
    await delay(options.everyMs ?? 20);
  }
}
