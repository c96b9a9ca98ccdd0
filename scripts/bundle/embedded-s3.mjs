/**
 * Lets the host's bundle carry the S3 client, a megabyte that only the process of the box store needs. It is bundled by
 * itself and stands compressed in a comment, like the natives: nothing of it is parsed or kept at any other start.
 */
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";

const names = [
  "S3Client",
  "PutObjectCommand",
  "GetObjectCommand",
  "ListObjectsV2Command",
  "DeleteObjectCommand",
];

const reader = `
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Script } from "node:vm";
import { brotliDecompressSync } from "node:zlib";
export async function loadS3() {
  const bundle = readFileSync(__filename, "latin1");
  const mark = "// sand-s3 ";
  const from = bundle.lastIndexOf(mark) + mark.length;
  const packed = Buffer.from(bundle.slice(from, bundle.indexOf("\\n", from)), "base64");
  const text = "(function (exports, require, module) {" + brotliDecompressSync(packed).latin1Slice() + "\\n})";
  const module = { exports: {} };
  new Script(text, { filename: "s3-client.cjs" }).runInThisContext()(module.exports, createRequire(__filename), module);
  return module.exports;
}
`;

/**
 * Returns the plugin; `carried`, the comment that belongs at the end of the bundle once it is built; and `inputs`, what
 * went in, for the licences.
 * @param {string} root
 */
export function embeddedS3(root) {
  let built;
  const plugin = {
    name: "embedded-s3",
    setup(outer) {
      outer.onLoad({ filter: /packages\/host\/src\/box-store\/carried-s3\.ts$/ }, async ({ path }) => {
        built = await buildClient(root, dirname(path));
        return { contents: reader, loader: "js" };
      });
    },
  };
  const carried = () => {
    if (built === undefined) return "";
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 };
    const packed = brotliCompressSync(Buffer.from(built.text, "latin1"), { params });
    return `// sand-s3 ${packed.toString("base64")}\n`;
  };
  return { plugin, carried, inputs: () => built?.inputs ?? {} };
}

async function buildClient(root, resolveDir) {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `export { ${names.join(", ")} } from "@aws-sdk/client-s3";`,
      resolveDir,
      loader: "js",
    },
    absWorkingDir: root,
    outfile: join(root, "dist", "s3-client.cjs"),
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "node22",
    format: "cjs",
    supported: { "dynamic-import": false },
    charset: "ascii",
    legalComments: "none",
    logLevel: "error",
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: 160,
  });
  return { text: outputFiles[0].text, inputs: metafile.inputs };
}
