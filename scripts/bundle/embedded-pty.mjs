/**
 * Lets the daemon's bundle carry node-pty's addon for the Linux targets that the package ships prebuilt, so that a stock
 * image with the mounted bundle has terminals where the native shim doesn't run.
 *
 * `packages/exec-daemon/src/pty/embedded-pty.ts` is an empty table in the source tree; here it is filled.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const carriedTargets = ["linux-x64", "linux-arm64"];

/** Like the other natives it stands in a comment, so that it isn't parsed at each start. */
const reader = `
import { readFileSync } from "node:fs";
function readCarried(target) {
  const text = readFileSync(__filename, "latin1");
  const mark = "// sand-pty " + target + " ";
  const from = text.lastIndexOf(mark) + mark.length;
  return text.slice(from, text.indexOf("\\n", from));
}
`;

/**
 * Returns the plugin, and `carried`: the comments that belong at the end of the bundle once it is built.
 * @param {string} root
 */
export function embeddedPty(root) {
  let rows = [];
  const plugin = {
    name: "embedded-pty",
    setup(build) {
      build.onLoad({ filter: /packages\/exec-daemon\/src\/pty\/embedded-pty\.ts$/ }, () => {
        rows = carriedTargets.map((target) => readAddon(root, target));
        const table = rows.map(
          ({ target, sha256 }) =>
            `"${target}": { sha256: "${sha256}", get packed() { return readCarried("${target}"); } }`,
        );
        return { contents: `${reader}export const embeddedPty = {${table.join(", ")}};`, loader: "js" };
      });
    },
  };
  const carried = () => rows.map(({ target, packed }) => `// sand-pty ${target} ${packed}\n`).join("");
  return { plugin, carried };
}

function readAddon(root, target) {
  const fromDaemon = createRequire(join(root, "packages/exec-daemon/package.json"));
  const folder = dirname(fromDaemon.resolve("node-pty/package.json"));
  const bytes = readFileSync(join(folder, "prebuilds", target, "pty.node"));
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return {
    target,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    packed: brotliCompressSync(bytes, { params }).toString("base64"),
  };
}
