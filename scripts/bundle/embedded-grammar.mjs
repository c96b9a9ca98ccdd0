/**
 * Lets the daemon's bundle carry the shell grammar and its runtime, WebAssembly both, which are read from the packages
 * in the source tree. Like the natives they stand in comments at the end: nothing of them is parsed at a start.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const files = {
  runtime: "web-tree-sitter/web-tree-sitter.wasm",
  bash: "tree-sitter-bash/tree-sitter-bash.wasm",
};

const reader = `
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
function readCarried(name) {
  const text = readFileSync(__filename, "latin1");
  const mark = "// sand-grammar " + name + " ";
  const from = text.lastIndexOf(mark) + mark.length;
  return brotliDecompressSync(Buffer.from(text.slice(from, text.indexOf("\\n", from)), "base64"));
}
export const readGrammar = () => ({ runtime: readCarried("runtime"), bash: readCarried("bash") });
`;

/**
 * Returns the plugin, and `carried`: the comments that belong at the end of the bundle once it is built.
 * @param {string} root
 */
export function embeddedGrammar(root) {
  let isUsed = false;
  const { resolve } = createRequire(join(root, "packages/sandbox-policy/package.json"));
  const plugin = {
    name: "embedded-grammar",
    setup(build) {
      build.onLoad({ filter: /packages\/sandbox-policy\/src\/commands\/carried-grammar\.ts$/ }, () => {
        isUsed = true;
        return { contents: reader, loader: "js" };
      });
      // The module for `import` makes a `require` of its own, which hides the one of a CommonJS bundle.
      build.onResolve({ filter: /^web-tree-sitter$/ }, () => ({ path: resolve("web-tree-sitter") }));
    },
  };
  const carried = () =>
    isUsed
      ? Object.entries(files)
          .map(([name, file]) => `// sand-grammar ${name} ${pack(readFileSync(resolve(file)))}\n`)
          .join("")
      : "";
  return { plugin, carried };
}

function pack(bytes) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return brotliCompressSync(bytes, { params }).toString("base64");
}
