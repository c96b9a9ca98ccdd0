/**
 * Finds the native half of node-pty: the installed package first (NODE_PATH counts, so an operator can replace what we
 * carry), else what the bundle carries, unpacked once under its digest and checked before every load.
 *
 * Only the addon is used. The package's own JavaScript reads to an end of stream that comes too early, and tries a full
 * terminal again without a pause.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { writeFileAtomicSync } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { type EmbeddedPty, embeddedPty } from "./embedded-pty.ts";

export interface ForkedPty {
  /** the master, non-blocking */
  readonly fd: number;
  readonly pid: number;
  /** the slave's path */
  readonly pty: string;
}

/** the addon's functions that we use; its own declarations are those of the JavaScript around it */
export interface PtyAddon {
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helperPath: string,
    onExit: (code: number, signal: number) => void,
  ): ForkedPty;
  resize(fd: number, cols: number, rows: number, xPixels: number, yPixels: number): void;
}

export interface LoadPtyDeps {
  /** where a carried addon is unpacked, `<data root>/natives` */
  readonly nativesFolder: string;
  /** as in `linux-x64` */
  readonly target?: string;
  readonly carried?: Readonly<Record<string, EmbeddedPty>>;
  /** the folder of an installed node-pty, if there is one */
  readonly findPackage?: () => string | undefined;
}

const load = createRequire(import.meta.url);

/** Throws `exec/unsupported` with what was tried. */
export function loadPtyAddon(deps: LoadPtyDeps): PtyAddon {
  const target = deps.target ?? `${process.platform}-${process.arch}`;
  const failures: string[] = [];
  for (const find of [() => findInstalled(deps, target), () => findCarried(deps, target)]) {
    try {
      const path = find();
      const addon: unknown = path === undefined ? undefined : load(path);
      if (isAddon(addon)) return addon;
      failures.push(path === undefined ? `none for ${target}` : "the file is not the addon");
    } catch (error) {
      failures.push(firstLine(error));
    }
  }
  throw new BoxError("exec/unsupported", `terminals need node-pty's addon: ${failures.join("; ")}`, {
    hint: "set NODE_PATH to a folder with node-pty installed for this platform",
  });
}

function findInstalled(deps: LoadPtyDeps, target: string): string | undefined {
  const folder = (deps.findPackage ?? findPackage)();
  if (folder === undefined) return undefined;
  const places = ["build/Release/pty.node", `prebuilds/${target}/pty.node`];
  return places.map((place) => join(folder, place)).find((path) => existsSync(path));
}

function findPackage(): string | undefined {
  try {
    return dirname(load.resolve("node-pty/package.json"));
  } catch {
    // Not installed is the usual case of a bundle, not a failure.
    return undefined;
  }
}

function findCarried(deps: LoadPtyDeps, target: string): string | undefined {
  const native = (deps.carried ?? embeddedPty)[target];
  if (native === undefined) return undefined;
  const folder = join(deps.nativesFolder, native.sha256);
  const file = join(folder, "pty.node");
  if (existsSync(file) && sha256(readFileSync(file)) === native.sha256) return file;
  const bytes = brotliDecompressSync(Buffer.from(native.packed, "base64"));
  if (sha256(bytes) !== native.sha256) throw new Error("the carried addon is damaged");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileAtomicSync(file, bytes, { mode: 0o600 });
  return file;
}

function isAddon(value: unknown): value is PtyAddon {
  return typeof value === "object" && value !== null && "fork" in value && "resize" in value;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A loader's message lists whole search paths after its first line. */
function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0] ?? message;
}
