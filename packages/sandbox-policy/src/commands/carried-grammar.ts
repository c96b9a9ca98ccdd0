/**
 * Where the parser's WebAssembly comes from: the packages, as files. In a bundle this module is another one, which
 * carries them.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

export interface CarriedGrammar {
  readonly runtime: Uint8Array;
  readonly bash: Uint8Array;
}

export function readGrammar(): CarriedGrammar {
  const { resolve } = createRequire(import.meta.url);
  return {
    runtime: readFileSync(resolve("web-tree-sitter/web-tree-sitter.wasm")),
    bash: readFileSync(resolve("tree-sitter-bash/tree-sitter-bash.wasm")),
  };
}
