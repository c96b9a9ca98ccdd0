/** What one action of `sand agents` is given, and what it is. */
import type { CommandInput } from "../command.ts";
import type { GatewayClient } from "../gateway/gateway-client.ts";
import type { Terminal } from "../terminal.ts";

export interface ActionInput {
  readonly terminal: Terminal;
  readonly client: GatewayClient;
  readonly input: CommandInput;
  /** as many as the action names */
  readonly words: readonly string[];
}

export interface AgentAction {
  /** the words that it takes, as the help shows them */
  readonly words: string;
  run(given: ActionInput): Promise<void>;
}
