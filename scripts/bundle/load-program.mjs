/**
 * What a bundle does first: it finds the program that it carries, and compiles it from a code cache where one fits.
 *
 * The program stands compressed in a comment, because Node decodes and scans the whole file at each start. Compiling it
 * anew costs a start about as much as everything else in it. So a cache holds the program's text and what V8 made of
 * it: beside the bundle, where the build puts it, else in the data root, where the first start leaves it.
 *
 * V8 checks a cache for its own version and flags, not for damage nor for another program of the same length; so a
 * cache begins with the program's digest and a checksum. One that doesn't fit, or that can't be read or written, is
 * as good as none. The data root is private to the account that runs the program, so what lies there is that account's.
 */
import { createHash } from "node:crypto";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

const programLine = "// sand-program ";

/**
 * The bundle's text around `text`, a whole CommonJS module in ASCII. Comments may follow as `tail`.
 * @param {{banner?: string, text: string, tail?: string}} parts
 */
export function carryProgram({ banner, text, tail = "" }) {
  const whole = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, 32);
  const facts = JSON.stringify({ digest, programLine });
  const call = `(${loadProgram.toString()})(${facts}, { require, module, file: __filename, folder: __dirname });`;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 };
  const packed = brotliCompressSync(Buffer.from(whole, "latin1"), { params });
  const carried = `${programLine}${packed.toString("base64")}\n`;
  return `${[banner, `"use strict";`, call].filter(Boolean).join("\n")}\n${carried}${tail}`;
}

/** The program that a bundle carries, for whoever wants to look at it. */
export function readProgram(bundle) {
  const from = bundle.lastIndexOf(programLine);
  if (from < 0) return bundle;
  const encoded = bundle.slice(from + programLine.length, bundle.indexOf("\n", from));
  return brotliDecompressSync(Buffer.from(encoded, "base64")).toString("latin1");
}

/**
 * Stands in the bundle as it is here, and may use nothing of this file.
 * @param {{digest: string, programLine: string}} facts
 * @param {{require: NodeJS.Require, module: NodeJS.Module, file: string, folder: string}} own
 */
function loadProgram({ digest, programLine }, { require, module, file, folder }) {
  const fs = require("node:fs");
  const { basename, join } = require("node:path");
  const { Script, runInNewContext } = require("node:vm");
  const { setFlagsFromString } = require("node:v8");
  const { brotliDecompressSync, crc32 } = require("node:zlib");
  // For a program that mostly waits: the WebAssembly inside of `fetch` stays as it is first compiled, where better code
  // would cost 10 MB to make. Before anything is compiled, as below: a cache belongs to its flags.
  setFlagsFromString("--wasm-tiering-budget=1000000000");
  letNewSpaceGrow(false);
  // The header: what it is, the checksum of all that follows, how much of that is the text.
  const magic = `sand-code-1 ${digest}`;
  const [sumAt, sizeAt, headerBytes] = [magic.length, magic.length + 4, magic.length + 8];
  const cacheFolder = join(process.env.SAND_DATA_ROOT || "/home/box/sand-data", "code-cache");
  const cacheName = `${basename(file)}-${digest}-${process.versions.v8}-${process.arch}`;

  function openCache(path) {
    try {
      const bytes = fs.readFileSync(path);
      if (bytes.latin1Slice(0, sumAt) !== magic) return undefined;
      if (bytes.readUInt32LE(sumAt) !== crc32(bytes.subarray(sizeAt))) return undefined;
      const codeAt = headerBytes + bytes.readUInt32LE(sizeAt);
      return { text: bytes.latin1Slice(headerBytes, codeAt), code: bytes.subarray(codeAt) };
    } catch {
      return undefined;
    }
  }

  function unpack() {
    const bundle = fs.readFileSync(file, "latin1");
    const from = bundle.lastIndexOf(programLine) + programLine.length;
    const packed = Buffer.from(bundle.slice(from, bundle.indexOf("\n", from)), "base64");
    return { text: brotliDecompressSync(packed).latin1Slice(), code: undefined };
  }

  /**
   * Frees what only the start needed, this file's text among it. It also tells V8 how small the program is at rest:
   * until a first collection it lets the old objects grow much further before it looks at them.
   */
  function settle() {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    setFlagsFromString("--no-expose-gc");
    collect();
  }

  /** The space of new objects keeps its first size, a sixteenth of its greatest, but while the program is busy. */
  function letNewSpaceGrow(isBusy) {
    setFlagsFromString(`--semi-space-growth-factor=${isBusy ? 2 : 1}`);
  }

  function watchBusiness() {
    let [last, wasBusy] = [performance.eventLoopUtilization(), false];
    const look = () => {
      const now = performance.eventLoopUtilization();
      const isBusy = performance.eventLoopUtilization(now, last).utilization > 0.9;
      if (isBusy !== wasBusy) letNewSpaceGrow(isBusy);
      [last, wasBusy] = [now, isBusy];
    };
    setInterval(look, 1_000).unref();
  }

  /** Called once the program has started, so that what a start runs is in it compiled. */
  function keep(script, text) {
    try {
      letNewSpaceGrow(false);
      const parts = Buffer.concat([Buffer.from(text, "latin1"), script.createCachedData()]);
      const header = Buffer.alloc(headerBytes, magic, "latin1");
      header.writeUInt32LE(text.length, sizeAt);
      header.writeUInt32LE(crc32(parts, crc32(header.subarray(sizeAt))), sumAt);
      fs.mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
      const temporary = join(cacheFolder, `.${cacheName}.${process.pid}.tmp`);
      fs.writeFileSync(temporary, Buffer.concat([header, parts]), { mode: 0o600 });
      fs.renameSync(temporary, join(cacheFolder, cacheName));
      for (const name of fs.readdirSync(cacheFolder)) {
        const isOld = name.includes(`${basename(file)}-`) && name !== cacheName;
        if (isOld) fs.rmSync(join(cacheFolder, name), { force: true });
      }
    } catch {
      // The next start compiles anew.
    }
  }

  const { text, code } =
    openCache(`${file}.code-cache`) ?? openCache(join(cacheFolder, cacheName)) ?? unpack();
  const script = new Script(text, { filename: file, cachedData: code });
  setTimeout(settle, 500).unref();
  watchBusiness();
  // Only the program's first role is worth a cache: another would leave one without what the first one runs.
  const isFirstRole = process.argv[2] === undefined;
  if (isFirstRole && (code === undefined || script.cachedDataRejected)) {
    setTimeout(() => keep(script, text), 2_000).unref();
  }
  script.runInThisContext().call(module.exports, module.exports, require, module, file, folder);
}
