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
import { type InFileOrder, noContent, settleUnknownWrite } from "./write-file.ts";

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

const notEdited = "Interrupted before the file was edited.";

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
      if (context.signal.aborted && !invocation.resumed) return settleInterrupted(notEdited);
      return deps.inFileOrder(args.path, () => editFile(deps.box, args, invocation, context.signal));
    },
  });
}

async function editFile(
  box: BoxPort,
  args: EditArgs,
  invocation: ToolInvocation,
  interrupted: AbortSignal,
): Promise<ToolSettlement> {
  const what = `EditFile ${quoteName(args.path)}`;
  const file = await readWholeFile(box, args.path, editMaxBytes);
  if (file.outcome === "refused") return settleRefused(what, file);
  const earlier = invocation.resumed ? await findEarlier(box, args.path, file, invocation) : "never";
  if (earlier === "done") {
    return settleOk(`edited ${quoteName(args.path)}, sha256 ${file.sha256}`, { sha256: file.sha256 });
  }
  if (interrupted.aborted && earlier === "never") return settleInterrupted(notEdited);
  const settled = await applyEdit({ box, args, invocation, file });
  // The write was begun before, and the file isn't what that write made or started from.
  return settled.outcome === "error" && earlier === "begun" ? settleUnknownWrite(what) : settled;
}

interface Edit {
  readonly box: BoxPort;
  readonly args: EditArgs;
  readonly invocation: ToolInvocation;
  readonly file: WholeFile;
}

async function applyEdit({ box, args, invocation, file }: Edit): Promise<ToolSettlement> {
  const what = `EditFile ${quoteName(args.path)}`;
  if (args.expectedHash !== undefined && args.expectedHash !== file.sha256) {
    const text = `${what}: the file has changed since it was read (sha256 is ${file.sha256} now). Read it again.`;
    return settleError(text, { sha256: file.sha256 });
  }
  const { oldText, newText, replaceAll = false } = args;
  const replaced = replaceExactly(file.bytes, { oldText, newText, replaceAll });
  if (replaced.outcome === "refused")
    return settleError(`${what}: ${replaced.reason}.`, { sha256: file.sha256 });
  const written = await box.files.write({
    path: args.path,
    bytes: replaced.bytes,
    precondition: { kind: "sha256", sha256: file.sha256 },
    operationId: invocation.executionId,
    mode: null,
  });
  if (written.outcome === "refused" && written.code === "file/precondition") {
    const text = `${what}: somebody else changed the file at the same moment; nothing was written. Read it again.`;
    return settleError(text, { code: written.code });
  }
  if (written.outcome === "refused") return settleRefused(what, written);
  const line = `line ${replaced.line}`;
  const places = replaced.count === 1 ? `1 place, ${line}` : `${replaced.count} places, the first in ${line}`;
  const sha256 = hashBytes(replaced.bytes);
  return settleOk(`edited ${quoteName(args.path)}: ${places}, sha256 ${sha256}`, {
    count: replaced.count,
    line: replaced.line,
    sha256,
  });
}

/**
 * What became of this call's write in an earlier process. The question has the form of a write that can't happen: the
 * box looks for the operation before it looks at the precondition. It knows the operation as done when the file has
 * the written content now, and names a conflict when it knows it for another content.
 */
async function findEarlier(
  box: BoxPort,
  path: string,
  file: WholeFile,
  { executionId }: ToolInvocation,
): Promise<"done" | "begun" | "never"> {
  const precondition = { kind: "sha256" as const, sha256: noContent };
  const asked = await box.files.write({
    path,
    bytes: file.bytes,
    precondition,
    operationId: executionId,
    mode: null,
  });
  if (asked.outcome === "written") return "done";
  return asked.code === "exec/key-conflict" ? "begun" : "never";
}
