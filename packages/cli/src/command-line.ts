/**
 * Reads the argument list. Global options may stand before or after the command's name; everything unknown is an
 * error with a hint, because a misspelled option that is silently dropped runs something else than was meant.
 */
import { parseArgs } from "node:util";
import { type Command, type CommandInput, type CommandOptions, globalOptions } from "./command.ts";
import { CommandFailure } from "./command-failure.ts";

export type CommandLine =
  | { readonly kind: "version" }
  | { readonly kind: "help"; readonly command: Command | undefined; readonly asked: boolean }
  | { readonly kind: "run"; readonly command: Command; readonly input: CommandInput };

export function parseCommandLine(commands: readonly Command[], argv: readonly string[]): CommandLine {
  const { leading, rest } = splitLeadingOptions(argv);
  if (leading.includes("--version") || leading.includes("-V")) return { kind: "version" };
  const [name, ...words] = rest;
  const wantsHelp = leading.includes("--help") || leading.includes("-h");
  if (name === undefined) return parseWithoutCommand(leading, wantsHelp);
  if (name === "help") {
    const command = words[0] === undefined ? undefined : needCommand(commands, words[0]);
    return { kind: "help", command, asked: true };
  }
  const command = needCommand(commands, name);
  if (wantsHelp) return { kind: "help", command, asked: true };
  const input = parseInput(command, [...leading, ...words]);
  if (input.flag("help")) return { kind: "help", command, asked: true };
  const [least, most] = command.words;
  if (input.words.length < least || input.words.length > most) {
    throw new CommandFailure("usage", `usage: sand ${command.usage}`, {
      hint: `see sand ${command.name} --help`,
    });
  }
  return { kind: "run", command, input };
}

function parseWithoutCommand(leading: readonly string[], wantsHelp: boolean): CommandLine {
  const unknown = leading.find(
    (option) => option.startsWith("-") && !/^(?:--json|--data-root(?:=.*)?|--help|-h)$/su.test(option),
  );
  if (unknown !== undefined && !wantsHelp) {
    throw new CommandFailure("usage", `unknown option ${unknown}`, { hint: "see sand --help" });
  }
  return { kind: "help", command: undefined, asked: wantsHelp };
}

/** Options that stand before the command's name; the only one with a value is the data root. */
function splitLeadingOptions(argv: readonly string[]): {
  readonly leading: string[];
  readonly rest: string[];
} {
  let end = 0;
  while (end < argv.length && argv[end]?.startsWith("-") === true) {
    end += argv[end] === "--data-root" ? 2 : 1;
  }
  return { leading: argv.slice(0, end), rest: argv.slice(end) };
}

function parseInput(command: Command, args: string[]): CommandInput {
  const options: CommandOptions = { ...globalOptions, ...command.options };
  const shapes = Object.entries(options).map(([name, option]) => [
    name,
    {
      type: option.type,
      ...(option.short === undefined ? {} : { short: option.short }),
      ...(option.multiple === undefined ? {} : { multiple: true }),
    },
  ]);
  const { own, foreign } =
    command.takesCommandLine === undefined ? { own: args, foreign: [] } : splitCommandLine(options, args);
  try {
    const parsed = parseArgs({
      args: own,
      options: Object.fromEntries(shapes),
      allowPositionals: true,
      strict: true,
    });
    const values = new Map<string, unknown>(Object.entries(parsed.values));
    return {
      words: [...parsed.positionals, ...foreign],
      flag: (name) => values.get(name) === true,
      text: (name) => {
        const value = values.get(name);
        return typeof value === "string" ? value : undefined;
      },
      list: (name) => {
        const value = values.get(name);
        return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
      },
    };
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw new CommandFailure("usage", plainReason(reason), {
      hint: `see sand ${command.name} --help`,
      cause: error,
    });
  }
}

function plainReason(reason: string): string {
  const ambiguous = /^Option '(?:-\w, )?(--[\w-]+)\b.*' argument is ambiguous/u.exec(reason);
  if (ambiguous !== null) {
    const [, option = ""] = ambiguous;
    return `${option} needs a value; one that begins with a dash is written ${option}=<value>`;
  }
  return reason.replace(/\. To specify a positional.*$/su, "");
}

/** Where our own options end: at two dashes, or at the first word that is neither an option nor an option's value. */
function splitCommandLine(
  options: CommandOptions,
  args: string[],
): { readonly own: string[]; readonly foreign: string[] } {
  let end = 0;
  while (end < args.length) {
    const word = args[end] ?? "";
    if (word === "--") return { own: args.slice(0, end), foreign: args.slice(end + 1) };
    if (!word.startsWith("-") || word === "-") break;
    end += takesNextWord(options, word) ? 2 : 1;
  }
  return { own: args.slice(0, end), foreign: args.slice(end) };
}

function takesNextWord(options: CommandOptions, word: string): boolean {
  return Object.entries(options).some(
    ([name, option]) =>
      option.type === "string" &&
      (word === `--${name}` || (option.short !== undefined && word === `-${option.short}`)),
  );
}

function needCommand(commands: readonly Command[], name: string): Command {
  const command = commands.find((one) => one.name === name);
  if (command !== undefined) return command;
  throw new CommandFailure("usage", `there is no command "${name}"`, { hint: suggestion(commands, name) });
}

function suggestion(commands: readonly Command[], name: string): string {
  const near =
    commands.find((command) => name.length > 1 && command.name.startsWith(name)) ??
    commands.find((command) => isOneSlipAway(name, command.name)) ??
    commands.find((command) => command.name.startsWith(name.slice(0, 2)));
  return near === undefined ? "see sand --help" : `did you mean "sand ${near.name}"? See sand --help`;
}

/** one letter too many, too few or another, or two neighbours swapped */
function isOneSlipAway(typed: string, meant: string): boolean {
  let start = 0;
  while (start < meant.length && typed[start] === meant[start]) start += 1;
  const rest = typed.slice(start);
  const wanted = meant.slice(start);
  const swapped = `${rest[1] ?? ""}${rest[0] ?? ""}${rest.slice(2)}`;
  return [
    rest.slice(1) === wanted,
    rest === wanted.slice(1),
    rest.slice(1) === wanted.slice(1),
    swapped === wanted,
  ].includes(true);
}
