/** The help, made from the commands' own data so that it can't fall behind them. */
import { type Command, type CommandOptions, globalOptions } from "./command.ts";
import { exitCodes, exitMeanings } from "./exit-codes.ts";

export function renderOverview(commands: readonly Command[]): string {
  return [
    "sand: a computer for AI agents that you own",
    "",
    "Usage: sand <command> [arguments] [options]",
    "",
    "Commands:",
    ...twoColumns(commands.map((command) => [command.name, command.summary])),
    "",
    "Options:",
    ...twoColumns([...optionRows(globalOptions), ["-V, --version", "print the version"]]),
    "",
    "Examples:",
    "  sand up                       start a host here; then",
    '  sand chat main                talk to the agent "main"',
    "  sand send main 'run `ls`' --wait",
    "",
    "Exit status:",
    ...exitStatusLines(),
    "",
    "`sand <command> --help` tells more about one of them.",
  ].join("\n");
}

export function renderCommandHelp(command: Command): string {
  return [
    `Usage: sand ${command.usage}`,
    "",
    `${command.summary[0]?.toUpperCase() ?? ""}${command.summary.slice(1)}.`,
    ...(command.details === undefined ? [] : ["", command.details]),
    "",
    "Options:",
    ...twoColumns(optionRows({ ...command.options, ...globalOptions })),
    "",
    "Examples:",
    ...command.examples.map((example) => `  ${example}`),
  ].join("\n");
}

function exitStatusLines(): string[] {
  return twoColumns(Object.entries(exitCodes).map(([name, code]) => [String(code), meaningOf(name)]));
}

function meaningOf(name: string): string {
  return Object.entries(exitMeanings).find(([known]) => known === name)?.[1] ?? "";
}

function optionRows(options: CommandOptions): (readonly [string, string])[] {
  return Object.entries(options).map(([name, option]) => {
    const short = option.short === undefined ? "" : `-${option.short}, `;
    const value = option.value === undefined ? "" : ` ${option.value}`;
    return [`${short}--${name}${value}`, option.about];
  });
}

function twoColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
