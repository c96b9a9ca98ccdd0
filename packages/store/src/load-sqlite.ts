/**
 * Finds the native half of better-sqlite3 for a bundle, which has no `node_modules` beside it.
 *
 * A package that NODE_PATH gives comes first, so that an operator can replace what we carry. Then a
 * file beside the bundle, which is as trusted as the bundle and needs no check. Else the carried addon
 * is unpacked once, under its own digest, and its bytes are checked before every load: the folder is
 * writable by the host's user, and a torn file would crash the process. When none fits, one error names what was tried and the cure, so that a supervisor has a line to
 * show instead of a loop of restarts.
 *
 * In the sources nothing is carried, and the answer `undefined` lets the package find its own.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { writeFileAtomicSync } from "@sand/node-kit";
import { BoxError, invariant } from "@sand/protocol";
import type { EmbeddedNative } from "./embedded-natives.ts";
import { embeddedNatives } from "./embedded-natives.ts";

/** opaque to us */
export type SqliteAddon = object;

export interface LoadSqliteDeps {
  /** where carried addons are unpacked (`nativesFolderOf`) */
  readonly nativesFolder: string;
  /** as in `linux-x64` */
  readonly target?: string;
  readonly carried?: Readonly<Record<string, EmbeddedNative>>;
  /** the version of Node-API that this Node speaks */
  readonly nodeApi?: number;
  /** the folder of an installed better-sqlite3, if there is one */
  readonly findPackage?: () => string | undefined;
  /** where the build puts addons as files; the bundle's own folder when absent */
  readonly besideFolder?: string;
}

/** what the addon is built for; an older Node doesn't refuse it but crashes without a word */
const nodeApiMin = 10;

/** looks along the bundle's own folders and NODE_PATH */
const load = createRequire(import.meta.url);

/** A library is loaded once for a whole process, so this is where the one that was found is kept. */
let prepared: SqliteAddon | undefined;

/** where carried addons are unpacked */
export function nativesFolderOf(dataRoot: string): string {
  return join(dataRoot, "natives");
}

/** Called by a main before the first database is opened; a second call changes nothing. */
export function prepareSqlite(deps: LoadSqliteDeps): void {
  prepared ??= loadSqliteAddon(deps);
}

/**
 * What a bundle answers better-sqlite3 with when it asks for its native half.
 * @public the bundling script puts the call into the library
 */
export function preparedSqliteAddon(): SqliteAddon {
  invariant(prepared !== undefined, "prepareSqlite runs before the first database is opened");
  return prepared;
}

export function loadSqliteAddon(deps: LoadSqliteDeps): SqliteAddon | undefined {
  const carried = deps.carried ?? embeddedNatives;
  if (Object.keys(carried).length === 0) return undefined;
  refuseOldNode(deps.nodeApi ?? Number(process.versions.napi));
  const target = deps.target ?? `${process.platform}-${process.arch}`;
  const installed = (deps.findPackage ?? findInstalledPackage)();
  const failures: string[] = [];

  if (installed !== undefined) {
    const loaded = tryLoad(() => join(installed, "prebuilds", `${target}.node`), failures);
    if (loaded !== undefined) return loaded;
  }
  const native = carried[target];
  if (native === undefined) {
    failures.push(`this bundle carries none for ${target}`);
  } else {
    const beside = join(
      deps.besideFolder ?? bundleFolder(),
      `better-sqlite3-${target}-${native.sha256}.node`,
    );
    const loaded =
      (existsSync(beside) ? tryLoad(() => beside, failures) : undefined) ??
      tryLoad(() => unpack(native, deps.nativesFolder), failures);
    if (loaded !== undefined) return loaded;
  }
  throw new BoxError(
    "store/unavailable",
    `better-sqlite3 has no usable native addon: ${failures.join("; ")}`,
    {
      hint: "set NODE_PATH to a folder with better-sqlite3 installed for this platform, and keep the data root on a file system that allows loading libraries",
    },
  );
}

function bundleFolder(): string {
  return dirname(fileURLToPath(import.meta.url));
}

function refuseOldNode(nodeApi: number): void {
  if (nodeApi >= nodeApiMin) return;
  throw new BoxError("store/unavailable", `Node ${process.versions.node} is too old for better-sqlite3`, {
    hint: "use Node 22.14 or newer",
  });
}

function findInstalledPackage(): string | undefined {
  try {
    return dirname(load.resolve("better-sqlite3/package.json"));
  } catch {
    // Not installed is the usual case of a bundle, not a failure.
    return undefined;
  }
}

function tryLoad(find: () => string, failures: string[]): SqliteAddon | undefined {
  try {
    const addon: unknown = load(find());
    if (typeof addon === "object" && addon !== null) return addon;
    failures.push("the file is not an addon");
  } catch (error) {
    failures.push(firstLine(error));
  }
  return undefined;
}

function unpack(native: EmbeddedNative, nativesFolder: string): string {
  const folder = join(nativesFolder, native.sha256);
  const file = join(folder, "better_sqlite3.node");
  if (digestOf(file) === native.sha256) return file;
  const bytes = brotliDecompressSync(Buffer.from(native.packed, "base64"));
  if (sha256(bytes) !== native.sha256) throw new Error("the carried addon is damaged");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileAtomicSync(file, bytes, { mode: 0o600 });
  return file;
}

function digestOf(file: string): string | undefined {
  try {
    return sha256(readFileSync(file));
  } catch {
    // Absent or unreadable: it is written again, and that failure is the one to report.
    return undefined;
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A loader's message lists whole search paths after its first line. */
function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0] ?? message;
}
