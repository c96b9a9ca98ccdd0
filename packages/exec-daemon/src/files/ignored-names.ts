/** Names that a watch, a checkpoint and a hash leave out, wherever they are: large, and made anew by tools. */
import { BoxError } from "@sand/protocol";
import { fileLimits } from "./file-limits.ts";
import { rawOfText } from "./raw-path.ts";

const usual = [".git", "node_modules", ".venv", "__pycache__", ".cache"] as const;
const none = "-";

/** Nothing asked for is the usual list, `-` no name at all. */
export function ignoredNames(asked: readonly string[]): ReadonlySet<string> {
  if (asked.length > fileLimits.watchIgnoreMax)
    throw new BoxError("exec/invalid", `at most ${fileLimits.watchIgnoreMax} names can be ignored`);
  if (asked.some((name) => name.includes("/") || name === ""))
    throw new BoxError("exec/invalid", "what is ignored is named without a folder");
  const names = asked.length === 0 ? usual : asked.filter((name) => name !== none);
  return new Set(names.map(rawOfText));
}
