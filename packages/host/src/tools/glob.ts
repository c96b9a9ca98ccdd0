/** Glob: the files whose paths match a pattern. */
import type { Tool } from "@sand/agent-core";
import { Type } from "typebox";
import type { BoxPort } from "../box/box-port.ts";
import { defineTool } from "./define-tool.ts";
import { joinLines } from "./join-lines.ts";
import { globFilesMax, resultTextMaxBytes } from "./limits.ts";
import { quoteName, toOneLine } from "./safe-text.ts";
import { readUnlessInterrupted, settleError, settleOk, settleRefused } from "./settlements.ts";
import { createPathNamer } from "./workspace-path.ts";

const parameters = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: "for instance **/*.ts" }),
    path: Type.Optional(
      Type.String({ minLength: 1, description: "the folder to search; the workspace by default" }),
    ),
  },
  { additionalProperties: false },
);

export function createGlobTool(deps: { readonly box: BoxPort }): Tool {
  return defineTool({
    name: "Glob",
    description: "Finds files by a pattern of their path. Files that git ignores are left out.",
    parameters,
    replay: "safe",
    summarize: (args) => toOneLine(args.pattern, 120),
    run: ({ pattern, path = "." }, _invocation, context) =>
      readUnlessInterrupted(context, async () => {
        const [namePath, found] = await Promise.all([
          createPathNamer(deps.box, context.signal),
          deps.box.files.glob({ pattern, path, filesMax: globFilesMax }, context.signal),
        ]);
        if (found.outcome === "refused") return settleRefused(`Glob ${quoteName(pattern)}`, found);
        if (found.timedOut && found.paths.length === 0)
          return settleError("The search took too long and was stopped; search a smaller folder.");
        if (found.paths.length === 0) return settleOk("no files match", { files: 0, truncated: false });
        const joined = joinLines(found.paths.map(namePath), resultTextMaxBytes);
        const truncated = found.truncated || found.timedOut || joined.left > 0;
        const why = found.timedOut ? "the search took too long" : "there are too many";
        const note = truncated ? `\n[not all files are shown, ${why}; narrow the pattern or the path]` : "";
        return settleOk(`${joined.text}${note}`, {
          files: joined.shown,
          truncated,
          timedOut: found.timedOut,
        });
      }),
  });
}
