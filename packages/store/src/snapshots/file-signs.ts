/**
 * Tells, without reading it, that a file is as it was at the last snapshot: by its place, size and times. A file that
 * changed just before it was looked at may change again within the same tick of the clock, so such a look isn't kept.
 */
import { readFileSync, statSync } from "node:fs";
import { writeFileAtomicSync } from "@sand/node-kit";

/** changes closer than this to the look may look the same, in `ms` */
const clockGrainMs = 2_000;

export interface FileSign {
  readonly text: string;
  /** whether it may be believed later on */
  readonly isOld: boolean;
}

/** Over the file and, for a database, its log. */
export function signFile(path: string, kind: "database" | "file", nowMs: number): FileSign {
  const paths = kind === "database" ? [path, `${path}-wal`] : [path];
  let newestMs = 0;
  const parts = paths.map((each) => {
    const found = statSync(each, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return "-";
    newestMs = Math.max(newestMs, Number(found.mtimeMs), Number(found.ctimeMs));
    return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs, found.mode].join(":");
  });
  return { text: parts.join("|"), isOld: newestMs < nowMs - clockGrainMs };
}

export interface SeenFiles {
  /** the manifest that the signs belong to */
  readonly manifestKey: string;
  readonly signs: ReadonlyMap<string, string>;
}

const nothingSeen: SeenFiles = { manifestKey: "", signs: new Map() };

/** Lost or damaged, it costs a reading of all files. */
export function readSeenFiles(path: string): SeenFiles {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value !== "object" || value === null) return nothingSeen;
    const fields: Readonly<Record<string, unknown>> = { ...value };
    const { manifestKey, signs } = fields;
    if (typeof manifestKey !== "string" || typeof signs !== "object" || signs === null) return nothingSeen;
    const pairs = Object.entries(signs).filter(
      (pair): pair is [string, string] => typeof pair[1] === "string",
    );
    return { manifestKey, signs: new Map(pairs) };
  } catch {
    return nothingSeen;
  }
}

export function writeSeenFiles(path: string, seen: SeenFiles): void {
  const text = JSON.stringify({ manifestKey: seen.manifestKey, signs: Object.fromEntries(seen.signs) });
  writeFileAtomicSync(path, text);
}
