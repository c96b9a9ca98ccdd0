/**
 * WriteFile: a whole file, replaced in one step. The execution id is the operation's key: after a lost answer or a
 * crash the same write is recognised as done, and a later change by somebody else isn't overwritten.
 */
import type { Tool, ToolSettlement } from "@sand/agent-core";
import { Type } from "typebox";
import type { Refused } from "../box/box-files-port.ts";
import type { BoxPort } from "../box/box-port.ts";
import { defineTool } from "./define-tool.ts";
import { writeMaxBytes } from "./limits.ts";
import { quoteName, toOneLine } from "./safe-text.ts";
import { settleError, settleInterrupted, settleOk, settleRefused, settleUnknown } from "./settlements.ts";

const parameters = Type.Object(
  {
    path: Type.String({
      minLength: 1,
      description: "the file, absolute or relative to the workspace; its folders are made",
    }),
    content: Type.String({ description: "the whole new content" }),
  },
  { additionalProperties: false },
);

export type InFileOrder = <T>(path: string, change: () => Promise<T>) => Promise<T>;

export function createWriteFileTool(deps: {
  readonly box: BoxPort;
  readonly inFileOrder: InFileOrder;
}): Tool {
  return defineTool({
    name: "WriteFile",
    description: "Writes a text file, replacing what is there. Use EditFile to change a part of a file.",
    parameters,
    replay: "keyed",
    summarize: (args) => toOneLine(args.path, 120),
    run: async ({ path, content }, invocation, context) => {
      if (context.signal.aborted && !invocation.resumed)
        return settleInterrupted("Interrupted before the file was written.");
      const bytes = Buffer.from(content, "utf8");
      if (bytes.length > writeMaxBytes)
        return settleError(`content has ${bytes.length} bytes; at most ${writeMaxBytes} are taken.`);
      // The turn's signal isn't passed on: a write is short, and half-awaited it would leave the outcome open.
      const written = await deps.inFileOrder(path, () =>
        deps.box.files.write({
          path,
          bytes,
          precondition: { kind: "any" },
          operationId: invocation.executionId,
          mode: null,
        }),
      );
      if (written.outcome === "refused")
        return settleRefusedWrite(`WriteFile ${quoteName(path)}`, written, invocation.resumed);
      const did = written.created ? "created" : "replaced";
      return settleOk(`${did} ${quoteName(path)}: ${written.sizeBytes} bytes, sha256 ${written.sha256}`, {
        created: written.created,
        sizeBytes: written.sizeBytes,
        sha256: written.sha256,
      });
    },
  });
}

/** On a resumed call a failed precondition means that the file changed after the first attempt began. */
export function settleRefusedWrite(what: string, refused: Refused, resumed: boolean): ToolSettlement {
  if (!resumed || refused.code !== "file/precondition") return settleRefused(what, refused);
  return settleUnknown(
    `${what}: outcome unknown. The first attempt was cut off, and the file has been changed since; it was not written again. Read the file to see what holds.`,
    { code: refused.code },
  );
}
