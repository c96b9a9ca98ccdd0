import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { BoxError } from "@sand/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EmbeddedNative } from "../src/embedded-natives.ts";
import { loadSqliteAddon } from "../src/load-sqlite.ts";

const target = `${process.platform}-${process.arch}`;
const installed = dirname(createRequire(import.meta.url).resolve("better-sqlite3/package.json"));
const addonBytes = readFileSync(join(installed, "prebuilds", `${target}.node`));

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-natives-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function carry(bytes: Uint8Array): EmbeddedNative {
  return {
    sha256: createHash("sha256").update(bytes).digest("hex"),
    packed: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } }).toString("base64"),
  };
}

/** as for a bundle that is mounted alone */
const alone = () => undefined;

function unpackedPath(native: EmbeddedNative): string {
  return join(folder, "natives", native.sha256, "better_sqlite3.node");
}

function failureOf(run: () => unknown): BoxError {
  try {
    run();
  } catch (error) {
    if (error instanceof BoxError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("sources carry nothing, so the package finds its own addon", () => {
  expect(loadSqliteAddon({ nativesFolder: join(folder, "natives"), carried: {} })).toBeUndefined();
});

test("a carried addon is unpacked under its digest, for its owner only, and loads", () => {
  const native = carry(addonBytes);
  const addon = loadSqliteAddon({
    nativesFolder: join(folder, "natives"),
    carried: { [target]: native },
    findPackage: alone,
  });
  expect(addon).toHaveProperty("Database");
  expect(statSync(unpackedPath(native)).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(unpackedPath(native))).mode & 0o777).toBe(0o700);
});

test("an addon beside the bundle comes before the carried one, which stands in for one that doesn't load", () => {
  const native = carry(addonBytes);
  const loadWithBeside = (name: string, bytes: Uint8Array): unknown => {
    const besideFolder = join(folder, name);
    mkdirSync(besideFolder);
    writeFileSync(join(besideFolder, `better-sqlite3-${target}-${native.sha256}.node`), bytes);
    const carried = { [target]: native };
    return loadSqliteAddon({
      nativesFolder: join(folder, "natives"),
      carried,
      findPackage: alone,
      besideFolder,
    });
  };
  expect(loadWithBeside("good", addonBytes)).toHaveProperty("Database");
  expect(existsSync(unpackedPath(native))).toBe(false);
  expect(loadWithBeside("bad", Buffer.from("not an addon"))).toHaveProperty("Database");
  expect(existsSync(unpackedPath(native))).toBe(true);
});

test("an unpacked addon that was torn is written again before it is loaded", () => {
  const native = carry(addonBytes);
  mkdirSync(dirname(unpackedPath(native)), { recursive: true });
  writeFileSync(unpackedPath(native), addonBytes.subarray(0, 4_096));
  const addon = loadSqliteAddon({
    nativesFolder: join(folder, "natives"),
    carried: { [target]: native },
    findPackage: alone,
  });
  expect(addon).toHaveProperty("Database");
  expect(readFileSync(unpackedPath(native)).equals(addonBytes)).toBe(true);
});

test("an installed package wins over the carried addon", () => {
  const broken = carry(new TextEncoder().encode("no addon"));
  const addon = loadSqliteAddon({
    nativesFolder: join(folder, "natives"),
    carried: { [target]: broken },
    findPackage: () => installed,
  });
  expect(addon).toHaveProperty("Database");
});

test("an installed package that doesn't fit falls back to the carried addon", () => {
  const fake = join(folder, "better-sqlite3");
  mkdirSync(join(fake, "prebuilds"), { recursive: true });
  writeFileSync(join(fake, "prebuilds", `${target}.node`), "no addon");
  const addon = loadSqliteAddon({
    nativesFolder: join(folder, "natives"),
    carried: { [target]: carry(addonBytes) },
    findPackage: () => fake,
  });
  expect(addon).toHaveProperty("Database");
});

test("no fit addon gives one line that names the platform, and a cure", () => {
  const failure = failureOf(() =>
    loadSqliteAddon({
      nativesFolder: folder,
      target: "plan9-x64",
      carried: { [target]: carry(addonBytes) },
      findPackage: alone,
    }),
  );
  expect(failure.code).toBe("store/unavailable");
  expect(failure.message).toContain("plan9-x64");
  expect(failure.message).not.toContain("\n");
  expect(failure.hint).toContain("NODE_PATH");
});

test.skipIf(process.getuid?.() === 0)("a folder that can't be written is one line too", () => {
  chmodSync(folder, 0o500);
  const failure = failureOf(() =>
    loadSqliteAddon({
      nativesFolder: join(folder, "natives"),
      carried: { [target]: carry(addonBytes) },
      findPackage: alone,
    }),
  );
  expect(failure.message).not.toContain("\n");
});

test("a carried addon whose bytes don't match its digest is refused", () => {
  const native = { ...carry(addonBytes), sha256: "0".repeat(64) };
  const failure = failureOf(() =>
    loadSqliteAddon({
      nativesFolder: join(folder, "natives"),
      carried: { [target]: native },
      findPackage: alone,
    }),
  );
  expect(failure.message).toContain("damaged");
});

test("a Node that would crash on the addon is refused with the version that it takes", () => {
  const failure = failureOf(() =>
    loadSqliteAddon({
      nativesFolder: join(folder, "natives"),
      carried: { [target]: carry(addonBytes) },
      findPackage: alone,
      nodeApi: 9,
    }),
  );
  expect(failure.code).toBe("store/unavailable");
  expect(failure.hint).toBe("use Node 22.14 or newer");
});
