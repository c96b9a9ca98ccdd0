/** ListFiles: the entries of a folder, sorted, a folder marked by a slash and a link by its target. */
import type { Tool } from "@sand/agent-core";
import { Type } from "typebox";
import type { FileFacts } from "../box/box-files-port.ts";
import type { BoxPort } from "../box/box-port.ts";
import { defineTool } from "./define-tool.ts";
import { joinLines } from "./join-lines.ts";
import { listDepthMax, listEntriesMax, resultTextMaxBytes } from "./limits.ts";
import { quoteName, toOneLine } from "./safe-text.ts";
import { readUnlessInterrupted, settleOk, settleRefused } from "./settlements.ts";
import { createPathNamer, type NamePath } from "./workspace-path.ts";

const parameters = Type.Object(
  {
    path: Type.Optional(Type.String({ minLength: 1, description: "the folder; the workspace by default" })),
    depth: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: listDepthMax,
        description: "how deep; 1, its own entries, by default",
      }),
    ),
  },
  { additionalProperties: false },
);

export function createListFilesTool(deps: { readonly box: BoxPort }): Tool {
  return defineTool({
    name: "ListFiles",
    description: "Lists the files and folders in a folder, with sizes.",
    parameters,
    replay: "safe",
    summarize: (args) => toOneLine(args.path ?? ".", 120),
    run: ({ path = ".", depth = 1 }, _invocation, context) =>
      readUnlessInterrupted(context, async () => {
        const [namePath, listed] = await Promise.all([
          createPathNamer(deps.box, context.signal),
          deps.box.files.list({ path, depth, entriesMax: listEntriesMax }, context.signal),
        ]);
        if (listed.outcome === "refused") return settleRefused(`ListFiles ${quoteName(path)}`, listed);
        if (listed.entries.length === 0)
          return settleOk(`${quoteName(path)}: empty folder`, { entries: 0, truncated: false });
        const lines = listed.entries.map((entry) => describeEntry(entry, namePath)).sort(compareText);
        const joined = joinLines(lines, resultTextMaxBytes);
        const truncated = listed.truncated || joined.left > 0;
        const note = truncated
          ? `\n[not all entries are shown: ${joined.shown} of ${listed.truncated ? "more than " : ""}${lines.length}]`
          : "";
        return settleOk(`${joined.text}${note}`, { entries: lines.length, truncated });
      }),
  });
}

function describeEntry(file: FileFacts, namePath: NamePath): string {
  const name = namePath(file.path);
  switch (file.type) {
    case "directory":
      return `${name}/`;
    case "symlink":
      return `${name} -> ${quoteName(file.linkTarget ?? "?")}`;
    case "file":
      return `${name}  ${file.sizeBytes} bytes`;
    case "other":
      return `${name}  (not a regular file)`;
  }
}

/** By code units, so that the order is the same in every locale. */
function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
