/** The absolute path that a client means: beneath the home when it is relative, the home itself for `~`. Pure. */
import { posix } from "node:path";
import { limits } from "./limits.ts";
import { invalid } from "./surface-error.ts";

export function resolvePath(text: string, home: string, whenEmpty = home): string {
  if (text.length > limits.pathMaxChars) throw invalid("the path is too long");
  if (text.includes("\0")) throw invalid("a path holds no NUL");
  if (text === "") return whenEmpty;
  if (text === "~" || text.startsWith("~/")) return posix.join(home, text.slice(1));
  if (text.startsWith("~")) throw invalid("only the home of the account itself can be written as ~");
  return posix.resolve(home, text);
}
