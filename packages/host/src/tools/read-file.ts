/**
 * ReadFile: a part of a text file by lines, or a part of a command's output by bytes. Two ways of counting, because
 * people and other tools name lines of a file, while an output that was cut may be one line of a gigabyte.
 */
import type { Tool, ToolSettlement } from "@sand/agent-core";
import { Type } from "typebox";
import type { BoxPort } from "../box/box-port.ts";
import { defineTool } from "./define-tool.ts";
import { gatherLines, type LineRange } from "./gather-lines.ts";
import { readLinesDefault, resultTextMaxBytes } from "./limits.ts";
import { parseOutputHandle } from "./output-handle.ts";
import { readOutput } from "./read-output.ts";
import { quoteName, toOneLine } from "./safe-text.ts";
import { settleLines } from "./settle-lines.ts";
import { readUnlessInterrupted, settleError, settleRefused } from "./settlements.ts";

const parameters = Type.Object(
  {
    path: Type.Optional(
      Type.String({ minLength: 1, description: "the file, absolute or relative to the workspace" }),
    ),
    handle: Type.Optional(
      Type.String({
        minLength: 1,
        description: "in place of path: a handle that a result named, for instance exec:…",
      }),
    ),
    offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "with path: the first line, from 1. With handle: the first byte, from 0",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: `with path: how many lines, ${readLinesDefault} by default. With handle: how many bytes. At most ${resultTextMaxBytes} bytes are shown`,
      }),
    ),
  },
  { additionalProperties: false },
);

export function createReadFileTool(deps: { readonly box: BoxPort }): Tool {
  return defineTool({
    name: "ReadFile",
    description:
      "Reads a text file by lines and tells its sha256, or reads more of a command's output by its handle. Give exactly one of path and handle.",
    parameters,
    replay: "safe",
    summarize: (args) => toOneLine(args.path ?? args.handle ?? "", 120),
    run: async ({ path, handle, offset, limit }, invocation, context) => {
      if (path !== undefined && handle === undefined) {
        const range = { firstLine: Math.max(1, offset ?? 1), linesMax: limit ?? readLinesDefault };
        return readUnlessInterrupted(context, () => readLines(deps.box, path, range, context.signal));
      }
      if (handle === undefined || path !== undefined)
        return settleError("Give exactly one of path and handle.");
      const executionId = parseOutputHandle(handle);
      if (executionId === undefined)
        return settleError(`${toOneLine(handle, 80)} is not a handle; one looks like exec:<id>.`);
      const range = {
        from: offset ?? 0,
        bytesMax: Math.min(limit ?? resultTextMaxBytes, resultTextMaxBytes),
      };
      return readUnlessInterrupted(context, () =>
        readOutput(deps.box, { executionId, agentId: invocation.agentId, range, signal: context.signal }),
      );
    },
  });
}

async function readLines(
  box: BoxPort,
  path: string,
  range: LineRange,
  signal: AbortSignal,
): Promise<ToolSettlement> {
  const gathered = await gatherLines(box, path, range, signal);
  return gathered.outcome === "ok"
    ? settleLines(path, range, gathered)
    : settleRefused(`ReadFile ${quoteName(path)}`, gathered);
}
