/**
 * Makes a tool from its schema and its effect. The schema is written once: the model's description, the check of
 * the arguments and the types that the effect sees all come from it.
 */
import type { ReplayPolicy, Tool, ToolContext, ToolInvocation, ToolSettlement } from "@sand/agent-core";
import { invariant, type JsonObject } from "@sand/protocol";
import type { Static, TObject } from "typebox";
import { Check } from "typebox/value";

export interface ToolDefinition<Schema extends TObject> {
  readonly name: string;
  readonly description: string;
  readonly parameters: Schema;
  readonly replay: ReplayPolicy;
  summarize(args: Static<Schema>): string;
  run(args: Static<Schema>, invocation: ToolInvocation, context: ToolContext): Promise<ToolSettlement>;
}

export function defineTool<Schema extends TObject>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, parameters, replay } = definition;
  const checked = (args: unknown): Static<Schema> => {
    invariant(Check(parameters, args), `${name} runs with arguments that fit its schema`);
    return args;
  };
  return {
    // The schema object carries hidden marks of its library; what goes to a provider is its plain JSON.
    description: { name, description, parameters: JSON.parse(JSON.stringify(parameters)) as JsonObject },
    replay,
    summarize: (args) => definition.summarize(checked(args)),
    run: async (invocation, context) => definition.run(checked(invocation.args), invocation, context),
  };
}
