/** The completion for fish: one `complete` line for each word that can stand somewhere. */
import type { CommandWords, OptionWords } from "./completion-words.ts";

export function fishScript(commands: readonly CommandWords[], globals: readonly OptionWords[]): string {
  return [
    "# fish completion for sand; load it with: sand completion fish | source",
    "complete -c sand -n __fish_use_subcommand -f",
    ...globals.map((option) => optionLine(option, undefined)),
    ...commands.map(
      (one) => `complete -c sand -n __fish_use_subcommand -a ${one.name} -d ${quote(one.summary)}`,
    ),
    ...commands.flatMap(commandLines),
    "",
  ].join("\n");
}

function commandLines({ name, actions, options }: CommandWords): readonly string[] {
  const words =
    actions.length === 0 ? [] : [`complete -c sand -n ${condition(name)} -a ${quote(actions.join(" "))}`];
  return [...words, ...options.map((option) => optionLine(option, name))];
}

function optionLine({ names, about, takesValue, choices }: OptionWords, command: string | undefined): string {
  const spelled = names.map((name) =>
    name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  return [
    "complete -c sand",
    `-n ${command === undefined ? "__fish_use_subcommand" : condition(command)}`,
    ...spelled,
    ...(takesValue ? ["-r"] : []),
    ...(choices.length === 0 ? [] : [`-a ${quote(choices.join(" "))}`]),
    `-d ${quote(about)}`,
  ].join(" ");
}

function condition(command: string): string {
  return quote(`__fish_seen_subcommand_from ${command}`);
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/gu, "\\$&")}'`;
}
