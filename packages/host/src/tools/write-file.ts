/**
 * WriteFile: a whole file, replaced in one step. The execution id is the operation's key: after a lost answer or a
 * crash the same write is recognised as done, and a later change by somebody else isn't overwritten.
 */
import type { Tool, ToolSettlement } from "@sand/agent-core";
import { Type } from "typebox";
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

/** No content has this digest: a write that expects it is never begun, and still finds an operation that was. */
export const noContent = "0".repeat(64);

const notWritten = "Interrupted before the file was written.";

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
      if (context.signal.aborted && !invocation.resumed) {
        return settleInterrupted(notWritten);
      }
      const bytes = Buffer.from(content, "utf8");
      if (bytes.length > writeMaxBytes) {
        return settleError(`content has ${bytes.length} bytes; at most ${writeMaxBytes} are taken.`);
      }
      // The turn's signal isn't passed on: a write is short, and half-awaited it would leave the outcome open.
      const written = await deps.inFileOrder(path, () =>
        deps.box.files.write({
          path,
          bytes,
          // An interrupted call only asks whether an earlier process began it, and doesn't begin it now.
          precondition: context.signal.aborted ? { kind: "sha256", sha256: noContent } : { kind: "any" },
          operationId: invocation.executionId,
          mode: null,
        }),
      );
      if (written.outcome === "refused") {
        const what = `WriteFile ${quoteName(path)}`;
        if (written.code !== "file/precondition") return settleRefused(what, written);
        // A plain write expects nothing of the file, so only a repeat of a begun one can fail for its state.
        return context.signal.aborted ? settleInterrupted(notWritten) : settleUnknownWrite(what);
      }
      const did = written.created ? "created" : "replaced";
      return settleOk(`${did} ${quoteName(path)}: ${written.sizeBytes} bytes, sha256 ${written.sha256}`, {
        created: written.created,
        sizeBytes: written.sizeBytes,
        sha256: written.sha256,
      });
    },
  });
}

/** The first attempt was begun by an earlier process, and the file is neither what it was then nor what was to be. */
export function settleUnknownWrite(what: string): ToolSettlement {
  return settleUnknown(
    `${what}: outcome unknown. The first attempt was cut off, and the file has been changed since; it was not written again. Read the file to see what holds.`,
    { code: "file/precondition" },
  );
}
