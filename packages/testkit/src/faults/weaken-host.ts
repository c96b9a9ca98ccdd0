/**
 * Hosts with one promise broken on purpose. A suite that finds nothing wrong with them is blind.
 *
 * The shipped program's text is changed in one place and written beside a copy of its addon. A change that finds
 * nothing to change is an error: the control would silently be the host itself.
 */
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readProgram } from "../../../../scripts/bundle/load-program.mjs";

/** `no sync` is the shim's part: each sync says that it happened */
export type Weakness = "normal sync" | "early acknowledgement" | "rename without sync" | "no sync";

type Edit = readonly [pattern: RegExp, replacement: string];

const edits: Readonly<Record<Weakness, readonly Edit[]>> = {
  "normal sync": [
    [/"synchronous = FULL"\);\s*let/gu, '"synchronous = NORMAL");let'],
    [/fullSync=\s*2/gu, "fullSync=1"],
  ],
  "early acknowledgement": [
    [
      /database\.\s*begin\(\);\s*for\(let change/gu,
      "database.connection.inTransaction||database.begin();for(let change",
    ],
    [
      /database\.\s*commit\(\),\s*target\.\s*committed\(\)/gu,
      "setTimeout(()=>{database.connection.inTransaction&&database.commit()},50),target.committed()",
    ],
  ],
  "rename without sync": [
    [/\(0,\s*import_node_fs\.\s*fsyncSync\)\(\s*(?:file\d*|folder)\)/gu, "0"],
    [/await (?:file\d*|folder)\.\s*sync\(\)/gu, "await 0"],
  ],
  "no sync": [],
};

/** Returns the path of the weakened host, which lies in `folder`. */
export function weakenHost(shipped: string, weakness: Weakness, folder: string): string {
  let program = readProgram(readFileSync(shipped, "utf8"));
  for (const [pattern, replacement] of edits[weakness]) {
    const changed = program.replace(pattern, replacement);
    if (changed === program) throw new Error(`nothing to change for ${weakness}: ${pattern.source}`);
    program = changed;
  }
  for (const name of readdirSync(dirname(shipped))) {
    if (name.endsWith(".node")) copyFileSync(join(dirname(shipped), name), join(folder, name));
  }
  const path = join(folder, "host-main.cjs");
  const bundleUrl = 'const sandBundleUrl = require("node:url").pathToFileURL(__filename).href;';
  writeFileSync(path, `${bundleUrl}\n${program}(exports, require, module, __filename, __dirname);\n`);
  return path;
}
