/**
 * What a proof has done so far, so that it can be stopped and started again and adds up. Results count only for the
 * very code they were made with: another build begins from nothing.
 */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SandBundles } from "../processes/sand-bundles.ts";

export interface ProofState {
  /** the result under this key, made with this code; else it's made now and kept */
  once<T>(key: string, make: () => Promise<T>): Promise<T>;
}

export function openProofState(file: string | undefined, codeDigest: string): ProofState {
  const known = new Map<string, unknown>();
  if (file !== undefined && existsSync(file)) {
    for (const line of readFileSync(file, "utf8").split("\n")) {
      const row = parseRow(line);
      if (row?.code === codeDigest) known.set(row.key, row.result);
    }
  }
  return {
    async once<T>(key: string, make: () => Promise<T>): Promise<T> {
      // The file is ours alone, and rows of other code are passed over above.
      if (known.has(key)) return known.get(key) as T;
      const result = await make();
      known.set(key, result);
      if (file !== undefined) {
        mkdirSync(dirname(file), { recursive: true });
        appendFileSync(file, `${JSON.stringify({ code: codeDigest, key, result })}\n`);
      }
      return result;
    },
  };
}

interface StateRow {
  readonly code: string;
  readonly key: string;
  readonly result: unknown;
}

/** A line torn by a kill is as good as none. */
function parseRow(line: string): StateRow | undefined {
  try {
    const row: StateRow = JSON.parse(line);
    return typeof row.key === "string" ? row : undefined;
  } catch {
    return undefined;
  }
}

/** SHA-256 over the bundles, hex: the same sources give the same bundles, byte for byte. */
export function digestBundles(...all: readonly SandBundles[]): string {
  const hash = createHash("sha256");
  for (const { host, daemon } of all) hash.update(readFileSync(host)).update(readFileSync(daemon));
  return hash.digest("hex");
}
