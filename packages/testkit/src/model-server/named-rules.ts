/**
 * The fixed words by which a proof tells the model what to do: a user message `script:<name> <args>`.
 *
 * Several commands in one message are parted by ` ;; `. Answers depend on the message and the step alone.
 */
import type { AnswerRequest, ModelReply, ModelRule, SeenRequest } from "./model-script.ts";

const separator = " ;; ";

/** what follows the name in `script:<name> <args>`; undefined when the text names another rule */
export function scriptArgs(name: string, lastUserText: string): string | undefined {
  const prefix = `script:${name}`;
  if (lastUserText === prefix) return "";
  return lastUserText.startsWith(`${prefix} `) ? lastUserText.slice(prefix.length + 1) : undefined;
}

export function namedRule(name: string, answer: (args: string, seen: SeenRequest) => ModelReply): ModelRule {
  const steps: AnswerRequest = (seen) => answer(scriptArgs(name, seen.lastUserText) ?? "", seen);
  return { when: (text) => scriptArgs(name, text) !== undefined, steps };
}

/**
 * `say <text>` answers with the text. `run <command>` runs one command; `run-many a ;; b` one in each step;
 * `parallel a ;; b` all in one step. `write <path> <content>` and `read <path>` use the file tools.
 * `retry <text>` is refused twice (529, 429) and then says the text. `slow <ms> <text>` pauses before each delta.
 */
export const namedRules: readonly ModelRule[] = [
  namedRule("say", (args) => ({ text: args })),
  namedRule("run", (args, seen) => commandSteps([args], seen)),
  namedRule("run-many", (args, seen) => commandSteps(args.split(separator), seen)),
  namedRule("parallel", (args, seen) =>
    seen.step === 0 ? { calls: args.split(separator).map(shellCall) } : { text: doneText(seen) },
  ),
  namedRule("write", (args, seen) => {
    const { head, rest } = firstWord(args);
    return seen.step === 0
      ? { calls: [{ name: "WriteFile", args: { path: head, content: rest } }] }
      : { text: doneText(seen) };
  }),
  namedRule("read", (args, seen) =>
    seen.step === 0 ? { calls: [{ name: "ReadFile", args: { path: args } }] } : { text: doneText(seen) },
  ),
  namedRule("retry", (args) => ({
    text: args,
    firstAttempts: [
      { kind: "status", status: 529 },
      { kind: "status", status: 429, retryAfter: "0" },
    ],
  })),
  namedRule("slow", (args) => {
    const { head, rest } = firstWord(args);
    return { text: rest, frameDelayMs: Number(head), deltaChars: 8 };
  }),
];

function commandSteps(commands: readonly string[], seen: SeenRequest): ModelReply {
  const command = commands[seen.step];
  return command === undefined ? { text: doneText(seen) } : { calls: [shellCall(command)] };
}

function shellCall(command: string): { readonly name: string; readonly args: { readonly command: string } } {
  return { name: "Shell", args: { command } };
}

function doneText(seen: SeenRequest): string {
  return `done: ${seen.toolResults.join("\n")}`;
}

function firstWord(text: string): { readonly head: string; readonly rest: string } {
  const blank = text.indexOf(" ");
  return blank === -1
    ? { head: text, rest: "" }
    : { head: text.slice(0, blank), rest: text.slice(blank + 1) };
}
