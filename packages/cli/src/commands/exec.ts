/** `sand exec`: runs one command in the box, as an agent's would run, and passes everything through. */
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import { runInBox } from "../exec/run-in-box.ts";
import { locateDaemon } from "../local-host/locate-daemon.ts";

export const execCommand: Command = {
  name: "exec",
  summary: "run a command in the box",
  usage: "exec [options] [--] <command> [arguments …]",
  details: [
    "The command runs where agents' commands run: same folder, same account, same fence. What it",
    "prints is passed on byte for byte, a pipe or file as our input is its input, and its exit",
    "status is ours: 124 when --timeout ended it, 128 and the signal's number when a signal did.",
    "Ctrl-C asks it to end (TERM), a second one kills it, a third one leaves.",
    "",
    "When it couldn't be run at all the status is sand's own, and a line that begins with `sand:`",
    "says why. Of output that comes faster than it is read the daemon keeps some MiB; when some was",
    "lost, a line says so and the status isn't 0.",
  ].join("\n"),
  options: {
    cwd: {
      type: "string",
      value: "<folder>",
      about: "where, relative to the workspace (default: the workspace)",
    },
    env: {
      type: "string",
      value: "<name=value>",
      short: "e",
      multiple: true,
      about: "a variable; may be repeated",
    },
    timeout: { type: "string", value: "<seconds>", about: "end the command after this time" },
    shell: { type: "boolean", short: "c", about: "the command is one text for the shell" },
    "no-stdin": { type: "boolean", short: "n", about: "give it no input, whatever ours is" },
  },
  examples: [
    "sand exec ls -la",
    "sand exec --cwd src -e CI=1 -- make test",
    "sand exec -c 'ls | wc -l'",
    "tar c docs | sand exec --timeout 60 -- tar x",
  ],
  words: [1, Number.POSITIVE_INFINITY],
  takesCommandLine: true,
  outlivesReader: true,
  run: exec,
};

const timeoutMaxSeconds = 7 * 24 * 3_600;

async function exec(context: CommandContext, input: CommandInput): Promise<number> {
  const shell = input.flag("shell");
  if (shell && input.words.length !== 1) {
    throw new CommandFailure("usage", "with --shell the command is one word: quote it", {
      hint: "sand exec -c 'ls | wc -l'",
    });
  }
  const command = {
    argv: input.words,
    shell,
    cwd: input.text("cwd") ?? "",
    env: readVariables(input.list("env")),
    stdin: process.stdin.isTTY !== true && !input.flag("no-stdin"),
    killMs: readSeconds(input.text("timeout")) * 1_000,
  };
  return runInBox({
    command,
    json: context.terminal.json,
    note: context.terminal.note,
    locate: () => locateDaemon(context),
    onOutage: () => context.terminal.note("sand: the execution daemon is gone; waiting for it …"),
  });
}

function readVariables(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/su.exec(pair) ?? [];
      if (name === undefined || value === undefined)
        throw new CommandFailure("usage", `--env takes <name>=<value>, not "${pair}"`);
      return [name, value];
    }),
  );
}

function readSeconds(text: string | undefined): number {
  if (text === undefined) return 0;
  const seconds = Number(text);
  if (!/^\d{1,7}$/u.test(text) || seconds < 1 || seconds > timeoutMaxSeconds) {
    throw new CommandFailure(
      "usage",
      `--timeout is a number of seconds up to ${timeoutMaxSeconds}, not "${text}"`,
    );
  }
  return seconds;
}
