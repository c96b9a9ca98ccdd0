/** Answers the conditions and the range of a download, as HTTP (RFC 9110, §13 and §14) has them. Pure. */
export interface DownloadFacts {
  readonly etag: string;
  /** whole seconds, in `ms` */
  readonly modifiedAtMs: number;
  readonly sizeBytes: number;
}

export interface Conditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
  readonly ifUnmodifiedSince: string | undefined;
  readonly ifRange: string | undefined;
  readonly range: string | undefined;
}

export type DownloadVerdict =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "not-modified" }
  | { readonly kind: "precondition-failed" }
  | { readonly kind: "unsatisfiable" };

export function judgeConditions(facts: DownloadFacts, asked: Conditions): DownloadVerdict {
  if (asked.ifMatch !== undefined) {
    if (!matchesTag(asked.ifMatch, facts.etag, "strong")) return { kind: "precondition-failed" };
  } else if (isOlderThan(asked.ifUnmodifiedSince, facts)) return { kind: "precondition-failed" };
  if (asked.ifNoneMatch !== undefined) {
    if (matchesTag(asked.ifNoneMatch, facts.etag, "weak")) return { kind: "not-modified" };
  } else if (isUnmodified(asked.ifModifiedSince, facts)) return { kind: "not-modified" };
  return asked.range === undefined || !isRangeFresh(asked.ifRange, facts)
    ? { kind: "whole" }
    : judgeRange(asked.range, facts.sizeBytes);
}

function judgeRange(header: string, size: number): DownloadVerdict {
  // Several ranges, or a unit that nobody knows: the whole is always a right answer.
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/u.exec(header.trim());
  const [first = "", last = ""] = match?.slice(1) ?? [];
  if (match === null || (first === "" && last === "")) return { kind: "whole" };
  if (first === "") {
    const wanted = Number(last);
    if (wanted === 0 || size === 0) return { kind: "unsatisfiable" };
    return { kind: "part", start: Math.max(0, size - wanted), end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return { kind: "whole" };
  return start >= size ? { kind: "unsatisfiable" } : { kind: "part", start, end };
}

function isRangeFresh(header: string | undefined, facts: DownloadFacts): boolean {
  if (header === undefined) return true;
  if (header.includes('"')) return matchesTag(header, facts.etag, "strong");
  const sinceMs = Date.parse(header);
  return Number.isFinite(sinceMs) && sinceMs === facts.modifiedAtMs;
}

function matchesTag(header: string, etag: string, how: "strong" | "weak"): boolean {
  if (header.trim() === "*") return true;
  const tags = header.split(",").map((tag) => tag.trim());
  return tags.some((tag) => (how === "weak" && tag.startsWith("W/") ? tag.slice(2) : tag) === etag);
}

function isUnmodified(header: string | undefined, facts: DownloadFacts): boolean {
  const sinceMs = Date.parse(header ?? "");
  return Number.isFinite(sinceMs) && facts.modifiedAtMs <= sinceMs;
}

function isOlderThan(header: string | undefined, facts: DownloadFacts): boolean {
  const sinceMs = Date.parse(header ?? "");
  return Number.isFinite(sinceMs) && facts.modifiedAtMs > sinceMs;
}
