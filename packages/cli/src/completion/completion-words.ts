/** What can be completed, read off the command table, so that no shell's script can fall behind it. Pure. */
import { type Command, type CommandOptions, globalOptions } from "../command.ts";

export interface OptionWords {
  /** `--name`, and `-n` where there is one */
  readonly names: readonly string[];
  readonly about: string;
  /** whether the next word belongs to it */
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  /** what the first word may be */
  readonly actions: readonly string[];
  readonly options: readonly OptionWords[];
}

export function completionWords(commands: readonly Command[]): readonly CommandWords[] {
  return commands.map((command) => ({
    name: command.name,
    summary: command.summary,
    actions: command.actions ?? [],
    options: optionWords({ ...command.options, ...globalOptions }),
  }));
}

export function globalWords(): readonly OptionWords[] {
  return optionWords(globalOptions);
}

function optionWords(options: CommandOptions): readonly OptionWords[] {
  return Object.entries(options).map(([name, option]) => ({
    names: [`--${name}`, ...(option.short === undefined ? [] : [`-${option.short}`])],
    about: option.about,
    takesValue: option.type === "string",
    choices: option.choices ?? [],
  }));
}
