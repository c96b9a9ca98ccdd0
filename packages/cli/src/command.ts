/** What one command of `sand` is: data for its help and its parser, and one function that does the work. */
import type { CliConfig } from "./config.ts";
import type { ExitName } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

export interface CommandOption {
  readonly type: "boolean" | "string";
  readonly short?: string;
  /** the placeholder of a string option in the help */
  readonly value?: string;
  readonly about: string;
}

export type CommandOptions = Readonly<Record<string, CommandOption>>;

export interface CommandInput {
  readonly words: readonly string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
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
  run(context: CommandContext, input: CommandInput): Promise<ExitName>;
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
