/** The two lines of a tool call that people see: what it does, and its arguments cut short. */
import type { ToolCallRecord, ToolSet } from "@sand/agent-core";
import { parseArguments } from "../tools/parse-arguments.ts";

const previewMaxLength = 500;

export interface CallDescription {
  readonly summary: string;
  readonly argsPreview: string;
}

export function describeCall(tools: ToolSet, call: ToolCallRecord): CallDescription {
  const tool = tools.get(call.name);
  const argsPreview = call.argsText.slice(0, previewMaxLength);
  if (tool === undefined) return { summary: `${call.name} (no such tool)`, argsPreview };
  const parsed = parseArguments(call.argsText, tool.description.parameters);
  return {
    summary: parsed.ok ? tool.summarize(parsed.args).slice(0, previewMaxLength) : call.name,
    argsPreview,
  };
}
