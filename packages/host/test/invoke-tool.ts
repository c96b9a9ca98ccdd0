/** Runs a tool as the turn loop does: arguments as text, parsed by the tool's own schema, then one invocation. */
import type { ToolSet, ToolSettlement } from "@sand/agent-core";
import {
  type AgentId,
  brandId,
  type CallId,
  type ExecutionId,
  type JsonObject,
  type TurnId,
} from "@sand/protocol";
import { parseArguments } from "../src/tools/parse-arguments.ts";

export interface InvokeOptions {
  readonly id?: string;
  readonly agent?: string;
  readonly resumed?: boolean;
  readonly signal?: AbortSignal;
  readonly onOutput?: (text: string) => void;
}

export async function invokeTool(
  tools: ToolSet,
  name: string,
  args: JsonObject,
  options: InvokeOptions = {},
): Promise<ToolSettlement> {
  const tool = tools.get(name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  const parsed = parseArguments(JSON.stringify(args), tool.description.parameters);
  if (!parsed.ok) return { outcome: "error", text: parsed.text, outputHandle: null, details: parsed.details };
  const id = options.id ?? "call-1";
  return await tool.run(
    {
      agentId: brandId<AgentId>(options.agent ?? "sandy"),
      turnId: brandId<TurnId>("turn-1"),
      callId: brandId<CallId>(id),
      executionId: brandId<ExecutionId>(id),
      args: parsed.args,
      resumed: options.resumed ?? false,
    },
    { signal: options.signal ?? new AbortController().signal, onOutput: options.onOutput ?? (() => {}) },
  );
}
