/**
 * Packages that are something else in a bundle than in a folder of modules.
 *
 * `@vscode/ripgrep` finds a binary by its own place on disk and throws while it is being loaded if its platform package
 * is missing. In a bundle it answers with the binary beside the bundle, where the build puts one, else with the one
 * that NODE_PATH gives, else with the plain name, which is looked up on PATH when it is started.
 *
 * Others are parts of libraries that no program of ours uses and that would be loaded at each start: pino's transports
 * (they need files of their own), fastify's schema compilers and its injection of requests.
 */
const ripgrep = `
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

function find() {
  const beside = join(__dirname, "rg");
  if (existsSync(beside)) return beside;
  try {
    return createRequire(__filename).resolve(\`@vscode/ripgrep-\${process.platform}-\${process.arch}/bin/rg\`);
  } catch {
    return "rg";
  }
}
export const rgPath = find();
`;

const leftOut = [
  { name: "pino's transports", filter: /\/pino\/lib\/transport\.js$/ },
  { name: "fastify's validators", filter: /\/@fastify\/ajv-compiler\/index\.js$/ },
  { name: "fastify's serializers", filter: /\/@fastify\/fast-json-stringify-compiler\/index\.js$/ },
  { name: "fastify's injection", filter: /\/light-my-request\/index\.js$/ },
];

export function carriedModules() {
  return {
    name: "carried-modules",
    setup(build) {
      build.onLoad({ filter: /@vscode\/ripgrep\/lib\/index\.js$/ }, () => ({
        contents: ripgrep,
        loader: "js",
      }));
      for (const { name, filter } of leftOut) {
        const text = JSON.stringify(`${name} are not part of this bundle`);
        build.onLoad({ filter }, () => ({
          contents: `module.exports = () => { throw new Error(${text}); };`,
          loader: "js",
        }));
      }
    },
  };
}
