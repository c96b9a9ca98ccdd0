/**
 * Lets a bundle carry the SQLite addon, so that a stock image with two mounted files works.
 *
 * `packages/store/src/embedded-natives.ts` is an empty table in the source tree; here it is filled
 * with the prebuilt addons of the Linux targets, packed and encoded. The package's own lookup by
 * path, which can't work inside a bundle, is replaced by what the store has prepared.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const carriedTargets = ["linux-x64", "linux-arm64"];

const binding = `
const { preparedSqliteAddon } = require("./packages/store/src/load-sqlite.ts");
exports.getBinding = (given) => given ?? preparedSqliteAddon();
`;

/**
 * Finds an addon's text again in the bundle's own file. It stands in a comment there: as a value of the program it would
 * be parsed, and kept in memory, at each start.
 */
const reader = `
import { readFileSync } from "node:fs";
function readCarried(target) {
  const text = readFileSync(__filename, "latin1");
  const mark = "// sand-native " + target + " ";
  const from = text.lastIndexOf(mark) + mark.length;
  return text.slice(from, text.indexOf("\\n", from));
}
`;

/**
 * Returns the plugin, and `carried`: the comments that belong at the end of the bundle once it is built.
 * @param {string} root
 */
export function embeddedNatives(root) {
  let addons = {};
  const plugin = {
    name: "embedded-natives",
    setup(build) {
      build.onLoad({ filter: /packages\/store\/src\/embedded-natives\.ts$/ }, async () => {
        addons = await readAddons(root);
        const rows = Object.entries(addons).map(
          ([target, { sha256 }]) =>
            `"${target}": { sha256: "${sha256}", get packed() { return readCarried("${target}"); } }`,
        );
        return { contents: `${reader}export const embeddedNatives = {${rows.join(", ")}};`, loader: "js" };
      });
      build.onLoad({ filter: /better-sqlite3\/lib\/binding\.js$/ }, () => ({
        contents: binding,
        resolveDir: root,
        loader: "js",
      }));
    },
  };
  const carried = () =>
    Object.entries(addons)
      .map(([target, { packed }]) => `// sand-native ${target} ${packed}\n`)
      .join("");
  return { plugin, carried };
}

/** @param {string} root */
async function readAddons(root) {
  const addons = {};
  for (const target of carriedTargets) {
    const bytes = await readAddon(root, target);
    addons[target] = {
      sha256: createHash("sha256").update(bytes).digest("hex"),
      packed: pack(bytes),
    };
  }
  return addons;
}

/** Not the highest quality: it would save a tenth, and take twenty times as long. */
function pack(bytes) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return brotliCompressSync(bytes, { params }).toString("base64");
}

/**
 * Puts the addons beside a bundle as files, where the store looks before it unpacks what is carried. The name says which
 * bytes it must be.
 * @param {string} root @param {string} folder
 */
export async function placeNatives(root, folder) {
  for (const name of await readdir(folder)) {
    if (/^better-sqlite3-.*\.node$/.test(name)) await rm(join(folder, name), { force: true });
  }
  for (const target of carriedTargets) {
    const bytes = await readAddon(root, target);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const file = join(folder, `better-sqlite3-${target}-${sha256}.node`);
    await writeFile(`${file}.${process.pid}.tmp`, bytes);
    await rename(`${file}.${process.pid}.tmp`, file);
  }
}

function readAddon(root, target) {
  const fromStore = createRequire(join(root, "packages/store/package.json"));
  return readFile(
    join(dirname(fromStore.resolve("better-sqlite3/package.json")), "prebuilds", `${target}.node`),
  );
}
