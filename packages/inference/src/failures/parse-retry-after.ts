/** How long a provider wants us to wait, from its headers: milliseconds, seconds or a date. */
import { retryAfterMaxMs } from "../limits.ts";

export function parseRetryAfter(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const wish = wishedMs(headers, nowMs);
  if (wish === null || Number.isNaN(wish)) return null;
  return Math.min(Math.max(0, Math.round(wish)), retryAfterMaxMs);
}

function wishedMs(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const ms = headers["retry-after-ms"];
  if (ms !== undefined && isNumber(ms)) return Number(ms);
  const text = headers["retry-after"];
  if (text === undefined) return null;
  return isNumber(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
}

function isNumber(text: string): boolean {
  return /^\s*\d+(?:\.\d+)?\s*$/u.test(text);
}
