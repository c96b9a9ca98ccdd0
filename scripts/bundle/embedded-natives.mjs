/**
 * Lets a bundle carry the SQLite addon, so that a stock image with two mounted files works.
 *
 * `packages/store/src/embedded-natives.ts` is an empty table in the source tree; here it is filled
 * with the prebuilt addons of the Linux targets, deflated and encoded. The package's own lookup by
 * path, which can't work inside a bundle, is replaced by what the store has prepared.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { deflateRawSync } from "node:zlib";

const carriedTargets = ["linux-x64", "linux-arm64"];

const binding = `
const { preparedSqliteAddon } = require("./packages/store/src/load-sqlite.ts");
exports.getBinding = (given) => given ?? preparedSqliteAddon();
`;

/** @param {string} root */
export function embeddedNatives(root) {
  return {
    name: "embedded-natives",
    setup(build) {
      build.onLoad({ filter: /packages\/store\/src\/embedded-natives\.ts$/ }, async () => ({
        contents: `export const embeddedNatives = ${JSON.stringify(await readAddons(root))};`,
        loader: "js",
      }));
      build.onLoad({ filter: /better-sqlite3\/lib\/binding\.js$/ }, () => ({
        contents: binding,
        resolveDir: root,
        loader: "js",
      }));
    },
  };
}

/** @param {string} root */
async function readAddons(root) {
  const fromStore = createRequire(join(root, "packages/store/package.json"));
  const folder = join(dirname(fromStore.resolve("better-sqlite3/package.json")), "prebuilds");
  const addons = {};
  for (const target of carriedTargets) {
    const bytes = await readFile(join(folder, `${target}.node`));
    addons[target] = {
      sha256: createHash("sha256").update(bytes).digest("hex"),
      // Raw deflate has no header, so no time or system goes into the bundle.
      deflated: deflateRawSync(bytes, { level: 9 }).toString("base64"),
    };
  }
  return addons;
}
