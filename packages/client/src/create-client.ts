/**
 * The typed client of a gateway: one method for each command, prompts that survive a lost connection, and events that
 * go on after one. It needs nothing but `fetch`, so it runs in Node and in a browser.
 */
import { type Access, type CallOptions, callCommand } from "./call-command.ts";
import { type CommandMethods, createCommandMethods } from "./gen/api.ts";
import { type EventOptions, readEvents, type SandEvent } from "./read-events.ts";
import {
  type AcceptedPrompt,
  type Prompt,
  type ReliableOptions,
  sendPromptReliably,
} from "./send-prompt-reliably.ts";

export interface ClientOptions {
  /** for instance `http://127.0.0.1:1340` */
  readonly baseUrl: string;
  /** the bearer; `null` for a host without one */
  readonly token: string | null;
  /** instead of the runtime's own */
  readonly fetch?: typeof fetch;
  /** how long one command may take, in `ms`; 30 s when absent */
  readonly timeoutMs?: number;
}

export interface Client extends CommandMethods<CallOptions> {
  /** accepted exactly once; throws `GatewayError` when refused and `PromptUnsettledError` when it can't be known */
  sendPromptReliably(prompt: Prompt, options?: ReliableOptions): Promise<AcceptedPrompt>;
  /** an endless iterable that goes on after lost connections */
  events(options?: EventOptions): AsyncIterable<SandEvent>;
}

const timeoutDefaultMs = 30_000;

export function createClient(options: ClientOptions): Client {
  const access: Access = {
    baseUrl: options.baseUrl.replace(/\/+$/u, ""),
    token: options.token,
    // Called as a bare function, because a browser's own refuses to be a method of something else.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    timeoutMs: options.timeoutMs ?? timeoutDefaultMs,
  };
  const commands = createCommandMethods<CallOptions>((name, request, more) =>
    callCommand(access, name, request, more),
  );
  return {
    ...commands,
    sendPromptReliably: (prompt, more) => sendPromptReliably(commands, prompt, more),
    events: (more) => readEvents(access, more),
  };
}
