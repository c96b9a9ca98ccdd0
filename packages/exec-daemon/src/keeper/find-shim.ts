/**
 * Finds the native shim: the one that a bundle carries, unpacked once under its own digest, else the one that was built
 * beside the sources. What is unpacked is checked before each use: the folder is writable by the daemon's account.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { writeFileAtomicSync } from "@sand/node-kit";
import { type EmbeddedShim, embeddedShims } from "./embedded-shim.ts";

export type FoundShim =
  | { readonly kind: "found"; readonly path: string }
  | { readonly kind: "missing"; readonly reason: string };

export interface FindShimDeps {
  readonly dataRoot: string;
  /** as in `linux-x64` */
  readonly target?: string;
  readonly carried?: Readonly<Record<string, EmbeddedShim>>;
  /** where the build beside the sources puts it */
  readonly builtFolder?: string;
}

const programName = "sand-shim";
const builtBeside = join(import.meta.dirname, "../../native/dist");

export function findShim(deps: FindShimDeps): FoundShim {
  const target = deps.target ?? `${process.platform}-${process.arch}`;
  const carried = deps.carried ?? embeddedShims;
  const shim = carried[target];
  if (shim !== undefined) return unpack(shim, join(deps.dataRoot, "natives"));
  const built = join(deps.builtFolder ?? builtBeside, target, programName);
  if (existsSync(built)) return { kind: "found", path: built };
  return { kind: "missing", reason: `this build carries none for ${target}` };
}

function unpack(shim: EmbeddedShim, nativesFolder: string): FoundShim {
  const folder = join(nativesFolder, shim.sha256);
  const path = join(folder, programName);
  try {
    if (digestOf(path) !== shim.sha256) {
      const bytes = brotliDecompressSync(Buffer.from(shim.packed, "base64"));
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileAtomicSync(path, bytes, { mode: 0o500 });
    }
    return { kind: "found", path };
  } catch (error) {
    return { kind: "missing", reason: `it can't be unpacked: ${String(error)}` };
  }
}

function digestOf(path: string): string | undefined {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  } catch {
    // Absent or unreadable: it is written again, and that failure is the one to report.
    return undefined;
  }
}
