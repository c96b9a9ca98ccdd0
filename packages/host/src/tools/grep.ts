/** Grep: the lines that match a regular expression, in ripgrep's form: `path:line:text`, context with dashes. */
import type { Tool } from "@sand/agent-core";
import { type Static, Type } from "typebox";
import type { GrepMatch, GrepSpec } from "../box/box-files-port.ts";
import type { BoxPort } from "../box/box-port.ts";
import { defineTool } from "./define-tool.ts";
import { joinLines } from "./join-lines.ts";
import {
  grepContextMax,
  grepLineMaxChars,
  grepResultsDefault,
  grepResultsMax,
  resultTextMaxBytes,
} from "./limits.ts";
import { makeTextSafe, toOneLine } from "./safe-text.ts";
import { readUnlessInterrupted, settleError, settleOk, settleRefused } from "./settlements.ts";
import { createPathNamer, type NamePath } from "./workspace-path.ts";

const parameters = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: "a regular expression as ripgrep takes it" }),
    path: Type.Optional(
      Type.String({ minLength: 1, description: "the folder or file to search; the workspace by default" }),
    ),
    glob: Type.Optional(
      Type.String({ minLength: 1, description: "only files that match, for instance *.ts" }),
    ),
    ignoreCase: Type.Optional(Type.Boolean()),
    context: Type.Optional(
      Type.Integer({ minimum: 0, maximum: grepContextMax, description: "lines shown around each match" }),
    ),
    maxResults: Type.Optional(
      Type.Integer({ minimum: 1, maximum: grepResultsMax, description: `${grepResultsDefault} by default` }),
    ),
  },
  { additionalProperties: false },
);

export function createGrepTool(deps: { readonly box: BoxPort }): Tool {
  return defineTool({
    name: "Grep",
    description:
      "Searches the text of files by a regular expression. Files that git ignores and binary files are left out.",
    parameters,
    replay: "safe",
    summarize: (args) => toOneLine(args.pattern, 120),
    run: (args, _invocation, context) =>
      readUnlessInterrupted(context, async () => {
        const [namePath, found] = await Promise.all([
          createPathNamer(deps.box, context.signal),
          deps.box.files.grep(grepSpec(args), context.signal),
        ]);
        if (found.outcome === "refused") return settleRefused("Grep", found);
        if (found.matches.length === 0) {
          if (found.timedOut)
            return settleError("The search took too long and was stopped; search a smaller folder.");
          return settleOk("no matches", { matches: 0, truncated: false });
        }
        const joined = joinLines(formatMatches(found.matches, namePath), resultTextMaxBytes);
        const truncated = found.truncated || found.timedOut || joined.left > 0;
        const why = found.timedOut ? "the search took too long" : "there are too many";
        const note = truncated
          ? `\n[not all matches are shown, ${why}; narrow the pattern, the glob or the path]`
          : "";
        const matches = found.matches.filter((match) => match.isMatch).length;
        return settleOk(`${joined.text}${note}`, { matches, truncated, timedOut: found.timedOut });
      }),
  });
}

function grepSpec(args: Static<typeof parameters>): GrepSpec {
  return {
    pattern: args.pattern,
    literal: false,
    ignoreCase: args.ignoreCase ?? false,
    path: args.path ?? ".",
    globs: args.glob === undefined ? [] : [args.glob],
    contextLines: args.context ?? 0,
    matchesMax: args.maxResults ?? grepResultsDefault,
  };
}

/** A `--` stands where lines of the same file are left out between two groups, or the file changes. */
function formatMatches(matches: readonly GrepMatch[], namePath: NamePath): string[] {
  const withContext = matches.some((match) => !match.isMatch);
  const lines: string[] = [];
  let last: GrepMatch | undefined;
  for (const match of matches) {
    if (withContext && last !== undefined && (last.path !== match.path || match.line !== last.line + 1))
      lines.push("--");
    const mark = match.isMatch ? ":" : "-";
    lines.push(`${namePath(match.path)}${mark}${match.line}${mark}${cutLine(match.text)}`);
    last = match;
  }
  return lines;
}

function cutLine(text: string): string {
  const line = makeTextSafe(text.replace(/\r?\n$/, ""));
  return line.length <= grepLineMaxChars
    ? line
    : `${line.slice(0, grepLineMaxChars).toWellFormed()}… (${line.length} characters)`;
}
