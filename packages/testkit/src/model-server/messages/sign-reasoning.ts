/**
 * The signatures of the scripted model's reasoning: made from the text and the model, so that the server knows its
 * own blocks again without remembering any, also after a restart.
 */
import { createHash } from "node:crypto";

export function signThinking(thinking: string, model: string): string {
  return digest(`thinking\n${model}\n${thinking}`);
}

const separator = ".";

/** opaque data as a provider sends it in place of reasoning that it doesn't show */
export function sealReasoning(text: string, model: string): string {
  const sealed = Buffer.from(text).toString("base64url");
  return `${sealed}${separator}${digest(`redacted\n${model}\n${sealed}`)}`;
}

export function isSealed(data: string, model: string): boolean {
  const [sealed = "", seal = ""] = data.split(separator);
  return seal === digest(`redacted\n${model}\n${sealed}`);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
