/** `sand completion`: prints a script by which a shell completes the words of `sand`. */
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import { bashScript } from "../completion/bash-script.ts";
import { completionWords, globalWords } from "../completion/completion-words.ts";
import { fishScript } from "../completion/fish-script.ts";
import { zshScript } from "../completion/zsh-script.ts";
import type { ExitName } from "../exit-codes.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `others` are all commands but this one, which completes itself as well. */
export function createCompletionCommand(others: readonly Command[]): Command {
  const command: Command = {
    name: "completion",
    summary: "print the completion script for a shell",
    usage: "completion bash | zsh | fish",
    details: "It is made from this program's own commands; print it anew after an update.",
    options: {},
    examples: [
      'eval "$(sand completion bash)"                  # in ~/.bashrc',
      "source <(sand completion zsh)                   # in ~/.zshrc",
      "sand completion fish | source                   # in config.fish",
    ],
    words: [1, 1],
    actions: Object.keys(scripts),
    run: (context, input) => Promise.resolve(printScript([...others, command], context, input)),
  };
  return command;
}

function printScript(
  commands: readonly Command[],
  { terminal }: CommandContext,
  input: CommandInput,
): ExitName {
  const [shell = ""] = input.words;
  const write = Object.entries(scripts).find(([name]) => name === shell)?.[1];
  if (write === undefined) {
    throw new CommandFailure("usage", `there is no completion for "${shell}"`, {
      hint: `there is one for ${Object.keys(scripts).join(", ")}`,
    });
  }
  const script = write(completionWords(commands), globalWords());
  terminal.result({ shell, script });
  terminal.write(script);
  return "ok";
}
