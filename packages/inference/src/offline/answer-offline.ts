/**
 * What the offline model says next: a pure function of the conversation, so the same history has the same answer.
 *
 * The last user message is the plan; the tool results behind it say how far the plan has come. A failed step ends
 * the plan, because the later ones were asked for in the belief that the earlier ones work.
 */
import type { ModelMessage, ToolDescription } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import { type OfflineAction, parseRequest } from "./parse-request.ts";

export interface OfflineCall {
  readonly providerCallId: string;
  readonly name: string;
  readonly args: JsonObject;
}

export interface OfflineAnswer {
  readonly text: string;
  readonly call: OfflineCall | undefined;
}

/** characters of one tool result that are repeated in the summary */
const shownMaxChars = 4_000;

const introduction =
  "I am Sand's offline model: a few fixed rules and no language model, so I need no key and cost nothing.";

const abilities = [
  "I understand a handful of requests:",
  "- run a command: ``run `ls -la` `` or `run: sleep 5 && echo hi`",
  "- read a file: `read notes.txt`",
  "- write a file: `write hello to notes.txt`",
  "- list files: `list files in src`",
  "",
  "Join several with `then`. For anything else set a real model up (SAND_INFERENCE_PROVIDER).",
].join("\n");

type ToolMessage = Extract<ModelMessage, { readonly role: "tool" }>;

export function answerOffline(
  messages: readonly ModelMessage[],
  tools: readonly ToolDescription[],
): OfflineAnswer {
  const asked = messages.findLastIndex((message) => message.role === "user");
  const request = parseRequest(textOf(messages[asked]));
  switch (request.kind) {
    case "help":
      return say(`${introduction}\n\n${abilities}`);
    case "unknown":
      return say(`${introduction} I don't understand this request.\n\n${abilities}`);
    case "actions": {
      const results = messages.slice(asked + 1).filter((message) => message.role === "tool");
      const next = request.actions[results.length];
      const failed = results.some(hasFailed);
      if (next === undefined || failed) return say(summarize(request.actions, results));
      return startAction(next, messages, tools);
    }
  }
}

function startAction(
  action: OfflineAction,
  messages: readonly ModelMessage[],
  tools: readonly ToolDescription[],
): OfflineAnswer {
  const { name, args } = toolFor(action);
  if (!tools.some((tool) => tool.name === name)) return say(`I can't do that here: I have no ${name} tool.`);
  return { text: `${announce(action)}\n`, call: { providerCallId: nextCallId(messages), name, args } };
}

function toolFor(action: OfflineAction): { readonly name: string; readonly args: JsonObject } {
  switch (action.kind) {
    case "run":
      return { name: "Shell", args: { command: action.command } };
    case "read":
      return { name: "ReadFile", args: { path: action.path } };
    case "write":
      return { name: "WriteFile", args: { path: action.path, content: action.content } };
    case "list":
      return { name: "ListFiles", args: { path: action.path } };
  }
}

function announce(action: OfflineAction): string {
  switch (action.kind) {
    case "run":
      return `I run ${inCode(action.command)}.`;
    case "read":
      return `I read ${inCode(action.path)}.`;
    case "write":
      return `I write ${action.content.length} characters to ${inCode(action.path)}.`;
    case "list":
      return `I list the files in ${inCode(action.path)}.`;
  }
}

function summarize(actions: readonly OfflineAction[], results: readonly ToolMessage[]): string {
  const told = results.flatMap((result, at) => {
    const action = actions[at];
    return action === undefined ? [] : [tell(action, result)];
  });
  const left = actions.length - results.length;
  if (left > 0)
    told.push(`I stopped there; ${left} more ${left === 1 ? "step was" : "steps were"} asked for.`);
  return told.join("\n\n");
}

function tell(action: OfflineAction, result: ToolMessage): string {
  return `${heading(action, hasFailed(result))}\n\n${fenced(result.text)}`;
}

/** A command that ran to a bad end is no error of the tool; its first line tells the exit code, for any model to read. */
function hasFailed(result: ToolMessage): boolean {
  return result.isError || (result.name === "Shell" && /^(?:exit code [1-9]|ended by )/u.test(result.text));
}

function heading(action: OfflineAction, failed: boolean): string {
  switch (action.kind) {
    case "run":
      return failed
        ? `The command ${inCode(action.command)} failed:`
        : `The command ${inCode(action.command)} gave:`;
    case "read":
      return failed ? `I could not read ${inCode(action.path)}:` : `${inCode(action.path)} contains:`;
    case "write":
      return failed ? `I could not write ${inCode(action.path)}:` : `I wrote ${inCode(action.path)}:`;
    case "list":
      return failed ? `I could not list ${inCode(action.path)}:` : `The files in ${inCode(action.path)}:`;
  }
}

function fenced(output: string): string {
  const shown = output.slice(0, shownMaxChars).trimEnd() || "(no output)";
  const rest = output.length > shownMaxChars ? `\n(${output.length - shownMaxChars} more characters)` : "";
  // A fence must be longer than any in the output, or the output would end it.
  const longest = Math.max(2, ...(shown.match(/`+/gu) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${shown}\n${fence}${rest}`;
}

function inCode(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** One more than the highest of our ids in the request: a count would repeat one when old turns are left out. */
function nextCallId(messages: readonly ModelMessage[]): string {
  const numbers = messages
    .flatMap((message) => (message.role === "assistant" ? message.calls : []))
    .map((call) => Number(/^offline-(\d+)$/u.exec(call.providerCallId)?.[1] ?? 0));
  return `offline-${Math.max(0, ...numbers) + 1}`;
}

function textOf(message: ModelMessage | undefined): string {
  return message?.text ?? "";
}

function say(text: string): OfflineAnswer {
  return { text, call: undefined };
}
