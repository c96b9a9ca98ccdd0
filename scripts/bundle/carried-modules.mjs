/**
 * Packages that find a binary by their own place on disk, which a bundle doesn't have.
 *
 * `@vscode/ripgrep` throws while it is being loaded if its platform package is missing. In a bundle
 * it answers with the binary beside the bundle, where the build puts one, else with the one that
 * NODE_PATH gives, else with the plain name, which is looked up on PATH when it is started.
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

export function carriedModules() {
  return {
    name: "carried-modules",
    setup(build) {
      build.onLoad({ filter: /@vscode\/ripgrep\/lib\/index\.js$/ }, () => ({
        contents: ripgrep,
        loader: "js",
      }));
    },
  };
}
