/**
 * What the server remembers of the requests it got: bounded in number and bytes, and free of credentials.
 *
 * The counters go on when old requests are dropped, so a count in a test is right for any length of run.
 */
import type { JsonObject } from "@sand/protocol";

export interface RecordedRequest {
  readonly number: number;
  readonly attempt: number;
  readonly atMs: number;
  readonly path: string;
  /** without authorization, keys and cookies */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** sha-256 of the body's bytes, hex */
  readonly bodyDigest: string;
  readonly lastUserText: string;
  readonly step: number;
  readonly toolResultCount: number;
  readonly violations: readonly string[];
}

export interface RequestLog {
  /** enters a request under the next number and tells whoever waits */
  add(request: Omit<RecordedRequest, "number" | "attempt">, bodyBytes: number): RecordedRequest;
  readonly requests: readonly RecordedRequest[];
  readonly violations: readonly string[];
  readonly count: number;
  /** rejects when fewer than `count` came within `deadlineMs` */
  waitFor(count: number, deadlineMs: number): Promise<void>;
}

const requestsMax = 2_000;
const bytesMax = 64 * 1024 * 1024;
const violationsMax = 1_000;
/** the attempts of more different requests than this aren't told apart any more */
const digestsMax = 20_000;

const hiddenHeaders = /^(authorization|cookie|x-api-key|api-key|proxy-authorization)$/iu;

export function withoutSecrets(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !hiddenHeaders.test(name))
      .map(([name, value]) => [name, String(value)]),
  );
}

export function createRequestLog(): RequestLog {
  const kept: { readonly request: RecordedRequest; readonly bytes: number }[] = [];
  const attempts = new Map<string, number>();
  const violations: string[] = [];
  const waiting = new Set<() => void>();
  let count = 0;
  let bytes = 0;

  function dropOldest(): void {
    while (kept.length > requestsMax || (bytes > bytesMax && kept.length > 1)) {
      bytes -= kept.shift()?.bytes ?? 0;
    }
  }

  function nextAttempt(digest: string): number {
    const attempt = (attempts.get(digest) ?? 0) + 1;
    if (attempts.has(digest) || attempts.size < digestsMax) attempts.set(digest, attempt);
    return attempt;
  }

  return {
    get requests() {
      return kept.map(({ request }) => request);
    },
    violations,
    get count() {
      return count;
    },
    add(seen, bodyBytes) {
      count += 1;
      const request = { ...seen, number: count, attempt: nextAttempt(seen.bodyDigest) };
      kept.push({ request, bytes: bodyBytes });
      bytes += bodyBytes;
      dropOldest();
      const room = violationsMax - violations.length;
      violations.push(...seen.violations.slice(0, room).map((text) => `request ${count}: ${text}`));
      for (const wake of [...waiting]) wake();
      return request;
    },
    async waitFor(wanted, deadlineMs) {
      await new Promise<void>((resolve, reject) => {
        const check = (): void => {
          if (count < wanted) return;
          clearTimeout(timer);
          waiting.delete(check);
          resolve();
        };
        const timer = setTimeout(() => {
          waiting.delete(check);
          reject(new Error(`${count} of ${wanted} model requests came within ${deadlineMs} ms`));
        }, deadlineMs);
        waiting.add(check);
        check();
      });
    },
  };
}
