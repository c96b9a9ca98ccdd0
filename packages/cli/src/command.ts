/** What one command of `sand` is: data for its help and its parser, and one function that does the work. */
import type { CliConfig } from "./config.ts";
import type { ExitName } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

export interface CommandOption {
  readonly type: "boolean" | "string";
  readonly short?: string;
  /** the placeholder of a string option in the help */
  readonly value?: string;
  /** may be given several times; read with `list` */
  readonly multiple?: true;
  /** the values that it takes, for shell completion */
  readonly choices?: readonly string[];
  readonly about: string;
}

export type CommandOptions = Readonly<Record<string, CommandOption>>;

export interface CommandInput {
  readonly words: readonly string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
  list(name: string): readonly string[];
}

export interface CommandContext {
  readonly config: CliConfig;
  readonly terminal: Terminal;
  readonly dataRoot: string;
  readonly currentFolder: string;
  /** this program's own file, from which the bundles beside it are found */
  readonly programPath: string;
  readonly version: string;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly usage: string;
  /** a paragraph for the help, already wrapped */
  readonly details?: string;
  readonly options: CommandOptions;
  readonly examples: readonly string[];
  /** how many words it takes, least and most */
  readonly words: readonly [number, number];
  /** what the first word may be, when it isn't a name of the user's; for shell completion */
  readonly actions?: readonly string[];
  /** its words are another program's command line: from the first one on, nothing is an option of ours */
  readonly takesCommandLine?: true;
  /** it deals itself with a reader that closes our output; otherwise that ends the program */
  readonly outlivesReader?: true;
  /** a number is the exit status of another program, passed on as it is */
  run(context: CommandContext, input: CommandInput): Promise<ExitName | number>;
}

export const globalOptions: CommandOptions = {
  json: { type: "boolean", about: "print JSON, one document a line" },
  "data-root": {
    type: "string",
    value: "<folder>",
    about: "where the host keeps its state (SAND_DATA_ROOT, else ~/.sand)",
  },
  help: { type: "boolean", short: "h", about: "show help" },
};
