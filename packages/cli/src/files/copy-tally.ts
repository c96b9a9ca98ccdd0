/** What a copy has done so far, and the line that shows it where a person looks. */
import { plainText } from "../plain-text.ts";

export interface CopyTally {
  begin(name: string, sizeBytes: number): void;
  /** bytes that were there already count as done, and not as copied */
  advance(bytes: number, kind: "copied" | "resumed"): void;
  end(): void;
  skip(name: string, why: string): void;
  clear(): void;
  readonly totals: CopyTotals;
}

export interface CopyTotals {
  files: number;
  bytes: number;
  resumedBytes: number;
  skipped: number;
}

export interface CopyTallyDeps {
  /** undefined: nobody looks */
  readonly draw: ((text: string) => void) | undefined;
  readonly note: (text: string) => void;
  readonly nowMs: () => number;
}

const drawEveryMs = 100;
const nameMaxChars = 40;
const clearLine = "\r\u001b[K";

export function createCopyTally({ draw, note, nowMs }: CopyTallyDeps): CopyTally {
  const totals: CopyTotals = { files: 0, bytes: 0, resumedBytes: 0, skipped: 0 };
  const startedMs = nowMs();
  let [current, size, done, drawnMs] = ["", 0, 0, 0];

  function show(): void {
    if (draw === undefined || nowMs() - drawnMs < drawEveryMs) return;
    drawnMs = nowMs();
    const share = size === 0 ? 100 : Math.floor((done / size) * 100);
    const perSecond = totals.bytes / Math.max(0.001, (nowMs() - startedMs) / 1000);
    draw(`${clearLine}${current}  ${share} %  ${bytesText(perSecond)}/s`);
  }

  return {
    begin(name, sizeBytes) {
      const flat = plainText(name);
      current = flat.length > nameMaxChars ? `…${flat.slice(1 - nameMaxChars)}` : flat;
      [size, done] = [sizeBytes, 0];
      show();
    },
    advance(bytes, kind) {
      done += bytes;
      if (kind === "copied") totals.bytes += bytes;
      else totals.resumedBytes += bytes;
      show();
    },
    end() {
      totals.files += 1;
    },
    skip(name, why) {
      totals.skipped += 1;
      draw?.(clearLine);
      note(`sand: left out ${plainText(name)}: ${why}`);
    },
    clear: () => draw?.(clearLine),
    totals,
  };
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
