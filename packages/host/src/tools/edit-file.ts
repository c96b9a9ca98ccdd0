/**
 * EditFile: replaces an exact text in a file. The write carries the digest of the content that was read, so a change
 * by somebody else in between is an error and never lost.
 *
 * A resumed call first asks whether its write was done: the edited file may hold the old text no more, or once more,
 * and editing it again would be wrong in both cases.
 */
import type { Tool, ToolInvocation, ToolSettlement } from "@sand/agent-core";
import { type Static, Type } from "typebox";
import type { BoxPort } from "../box/box-port.ts";
import { defineTool } from "./define-tool.ts";
import { editMaxBytes } from "./limits.ts";
import { hashBytes, readWholeFile, type WholeFile } from "./read-whole-file.ts";
import { replaceExactly } from "./replace-text.ts";
import { quoteName, toOneLine } from "./safe-text.ts";
import { settleError, settleInterrupted, settleOk, settleRefused } from "./settlements.ts";
import { type InFileOrder, settleRefusedWrite } from "./write-file.ts";

const parameters = Type.Object(
  {
    path: Type.String({ minLength: 1, description: "the file, absolute or relative to the workspace" }),
    oldText: Type.String({
      minLength: 1,
      description:
        "the exact text to replace, with its blanks and line ends; it has to be in the file exactly once",
    }),
    newText: Type.String({ description: "the text in its place" }),
    replaceAll: Type.Optional(Type.Boolean({ description: "replace every place instead" })),
    expectedHash: Type.Optional(
      Type.String({
        pattern: "^[0-9a-f]{64}$",
        description: "the sha256 that ReadFile told; the edit is refused when the file has changed since",
      }),
    ),
  },
  { additionalProperties: false },
);

type EditArgs = Static<typeof parameters>;

export function createEditFileTool(deps: { readonly box: BoxPort; readonly inFileOrder: InFileOrder }): Tool {
  return defineTool({
    name: "EditFile",
    description:
      "Replaces an exact text in a file by another one. Read the file first; oldText has to match exactly once.",
    parameters,
    replay: "keyed",
    summarize: (args) => toOneLine(args.path, 120),
    run: async (args, invocation, context) => {
      if (context.signal.aborted && !invocation.resumed)
        return settleInterrupted("Interrupted before the file was edited.");
      return deps.inFileOrder(args.path, () => editFile(deps.box, args, invocation));
    },
  });
}

async function editFile(box: BoxPort, args: EditArgs, invocation: ToolInvocation): Promise<ToolSettlement> {
  const what = `EditFile ${quoteName(args.path)}`;
  const file = await readWholeFile(box, args.path, editMaxBytes);
  if (file.outcome === "refused") return settleRefused(what, file);
  if (invocation.resumed && (await wasDone(box, args.path, file, invocation))) {
    return settleOk(`edited ${quoteName(args.path)}, sha256 ${file.sha256}`, { sha256: file.sha256 });
  }
  if (args.expectedHash !== undefined && args.expectedHash !== file.sha256) {
    return settleError(
      `${what}: the file has changed since it was read (sha256 is ${file.sha256} now). Read it again.`,
      { sha256: file.sha256 },
    );
  }
  const replaced = replaceExactly(file.bytes, {
    oldText: args.oldText,
    newText: args.newText,
    replaceAll: args.replaceAll ?? false,
  });
  if (replaced.outcome === "refused")
    return settleError(`${what}: ${replaced.reason}.`, { sha256: file.sha256 });
  const written = await box.files.write({
    path: args.path,
    bytes: replaced.bytes,
    precondition: { kind: "sha256", sha256: file.sha256 },
    operationId: invocation.executionId,
    mode: null,
  });
  if (written.outcome === "refused") {
    if (written.code === "file/precondition" && !invocation.resumed) {
      return settleError(
        `${what}: somebody else changed the file at the same moment; nothing was written. Read it again.`,
        { code: written.code },
      );
    }
    return settleRefusedWrite(what, written, invocation.resumed);
  }
  const places =
    replaced.count === 1
      ? `1 place, line ${replaced.line}`
      : `${replaced.count} places, the first in line ${replaced.line}`;
  const sha256 = hashBytes(replaced.bytes);
  return settleOk(`edited ${quoteName(args.path)}: ${places}, sha256 ${sha256}`, {
    count: replaced.count,
    line: replaced.line,
    sha256,
  });
}

/** no content has this digest, so a write that expects it is never performed */
const noContent = "0".repeat(64);

/**
 * Asks the box whether this call's write is the last change of the file. The question has the form of a write that
 * can't happen: under its own id the box recognises the finished operation before it looks at the precondition.
 */
async function wasDone(
  box: BoxPort,
  path: string,
  file: WholeFile,
  { executionId }: ToolInvocation,
): Promise<boolean> {
  const precondition = { kind: "sha256" as const, sha256: noContent };
  const asked = await box.files.write({
    path,
    bytes: file.bytes,
    precondition,
    operationId: executionId,
    mode: null,
  });
  return asked.outcome === "written" && asked.existing;
}
