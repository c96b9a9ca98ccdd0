/** `sand logs`: the logs of the host and its execution daemon, the last lines and what follows. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sand/node-kit";
import { boxContainer } from "../box-container/start-box.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { containerFileName } from "../gateway/find-gateway.ts";
import { describeLogLine, jsonOfLogLine, type LogLine, readLogLine } from "../logs/log-line.ts";
import { createLogReader } from "../logs/log-reader.ts";
import { readCount } from "../read-count.ts";
import type { Terminal } from "../terminal.ts";

const logFiles: Readonly<Record<string, readonly string[]>> = {
  host: ["logs", "host.log"],
  daemon: ["exec-daemon.log"],
};

export const logsCommand: Command = {
  name: "logs",
  summary: "show the logs of the host and its execution daemon",
  usage: "logs [host | daemon] [options]",
  details: [
    "Without a name it is both, in order of time. The host's earlier runs lie beside its log, as",
    "host.log.1 and so on. With --json each line is one document, with `source`.",
  ].join("\n"),
  options: {
    lines: { type: "string", value: "<n>", short: "n", about: "the last n lines (default 50)" },
    follow: { type: "boolean", short: "f", about: "stay, and show what is added, also after a restart" },
  },
  examples: ["sand logs", "sand logs host -f", "sand logs daemon -n 200 --json"],
  words: [0, 1],
  actions: Object.keys(logFiles),
  run: logs,
};

const linesDefault = 50;
const linesMax = 100_000;
const lookEveryMs = 200;

async function logs(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const count = readCount("lines", input.text("lines"), { least: 0, most: linesMax }) ?? linesDefault;
  const follow = input.flag("follow");
  const files = chooseFiles(context, input.words[0]);
  if (!follow && !files.some(({ path }) => existsSync(path))) throw describeAbsence(context);
  const readers = files.map(({ source, path }) => ({ source, reader: createLogReader(path) }));
  const order = createOrder();
  print(
    terminal,
    readers.flatMap(({ source, reader }) => order(source, reader.last(count))).sort(byTime),
    count,
  );
  while (follow) {
    await systemClock.sleep(lookEveryMs);
    print(terminal, readers.flatMap(({ source, reader }) => order(source, reader.more())).sort(byTime));
  }
  for (const { reader } of readers) reader[Symbol.dispose]();
  return "ok";
}

function chooseFiles({ dataRoot }: CommandContext, name: string | undefined) {
  if (name !== undefined && !Object.hasOwn(logFiles, name)) {
    throw new CommandFailure("usage", `there is no log "${name}"`, {
      hint: `there are ${Object.keys(logFiles).join(" and ")}`,
    });
  }
  return Object.entries(logFiles)
    .filter(([source]) => name === undefined || source === name)
    .map(([source, parts]) => ({ source, path: join(dataRoot, ...parts) }));
}

function describeAbsence({ dataRoot }: CommandContext): CommandFailure {
  const hint = existsSync(join(dataRoot, containerFileName))
    ? `the box is a container: docker logs ${boxContainer}`
    : "start a host: sand up";
  return new CommandFailure("failed", `there is no log under ${dataRoot}`, { hint });
}

/** Gives each line its time, and one without any that of the line before it in the same log. */
function createOrder(): (source: string, texts: readonly string[]) => LogLine[] {
  const beforeMs = new Map<string, number>();
  return (source, texts) =>
    texts.map((text) => {
      const line = readLogLine(source, text, beforeMs.get(source) ?? Number.NEGATIVE_INFINITY);
      beforeMs.set(source, line.atMs);
      return line;
    });
}

function byTime(a: LogLine, b: LogLine): number {
  return a.atMs === b.atMs ? 0 : a.atMs - b.atMs;
}

function print(terminal: Terminal, lines: readonly LogLine[], count = lines.length): void {
  for (const line of count === 0 ? [] : lines.slice(-count)) {
    terminal.result(jsonOfLogLine(line));
    terminal.line(describeLogLine(line, terminal.paint));
  }
}
