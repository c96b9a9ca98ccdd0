/** Turns our tool descriptions into the library's, safe to send. */
import type { LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import type { ToolDescription } from "@sand/agent-core";
import { makeSafeObject, makeSafeText } from "./safe-text.ts";

export function toTools(tools: readonly ToolDescription[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool) => ({
    type: "function",
    name: tool.name,
    description: makeSafeText(tool.description),
    inputSchema: makeSafeObject(tool.parameters),
  }));
}
