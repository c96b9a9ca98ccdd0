/**
 * Lets the daemon's bundle carry the native shim, so that a stock image with the mounted bundle has it too.
 *
 * `packages/exec-daemon/src/keeper/embedded-shim.ts` is an empty table in the source tree; here it gets the program that
 * the compiler of this machine made, for this machine's kind of processor. Where there is no compiler, or no static C
 * library, the table stays empty, and the daemon keeps executions by Node processes.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import { compileShim } from "../shim/compile-shim.mjs";

const target = `${process.platform}-${process.arch}`;

/** Like the other natives it stands in a comment, so that it isn't parsed at each start. */
const reader = `
import { readFileSync } from "node:fs";
function readCarried(target) {
  const text = readFileSync(__filename, "latin1");
  const mark = "// sand-shim " + target + " ";
  const from = text.lastIndexOf(mark) + mark.length;
  return text.slice(from, text.indexOf("\\n", from));
}
`;

/**
 * Returns the plugin, and `carried`: the comment that belongs at the end of the bundle once it is built.
 * @param {{failpoints: boolean}} plan
 */
export function embeddedShim({ failpoints }) {
  let packed;
  const plugin = {
    name: "embedded-shim",
    setup(build) {
      build.onLoad({ filter: /packages\/exec-daemon\/src\/keeper\/embedded-shim\.ts$/ }, () => {
        const compiled = compileShim();
        if (!compiled.built || !compiled.isStatic) {
          console.log(
            `the bundle carries no native shim: ${compiled.reason ?? "it isn't linked statically"}`,
          );
          return undefined;
        }
        const bytes = readFileSync(failpoints ? compiled.failpoints : compiled.shim);
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        packed = pack(bytes);
        const row = `"${target}": { sha256: "${sha256}", get packed() { return readCarried("${target}"); } }`;
        return { contents: `${reader}export const embeddedShims = {${row}};`, loader: "js" };
      });
    },
  };
  return { plugin, carried: () => (packed === undefined ? "" : `// sand-shim ${target} ${packed}\n`) };
}

function pack(bytes) {
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return brotliCompressSync(bytes, { params }).toString("base64");
}
