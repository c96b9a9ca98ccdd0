/** `sand attach`: a person's own terminal becomes a terminal in the box. */

import { attach } from "../attach/attach-session.ts";
import { parseDetachKey } from "../attach/detach-key.ts";
import { sizeOf } from "../attach/local-tty.ts";
import { findPtyServer, listTerminals, type PtyServer, spawnTerminal } from "../attach/pty-server.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { noDaemon } from "../local-host/no-daemon.ts";

export const attachCommand: Command = {
  name: "attach",
  summary: "open a terminal in the box",
  usage: "attach [options] [<id> | --new [--] [<command> …]]",
  details: [
    "With --new a terminal is made, with your login shell or the given command, where agents'",
    "commands run. Else one that exists is opened: the one named, or the only one there is.",
    "Ctrl-] leaves it and it runs on; sand attach comes back to it. A connection that is lost is",
    "made again by itself. When the program ends, its exit status is ours.",
  ].join("\n"),
  options: {
    new: { type: "boolean", short: "n", about: "make a terminal" },
    list: { type: "boolean", short: "l", about: "list terminals" },
    view: { type: "boolean", about: "look on, without typing" },
    takeover: { type: "boolean", about: "take a terminal away from the client that writes there" },
    cwd: { type: "string", value: "<folder>", about: "where a new one starts (default: the workspace)" },
    "detach-key": { type: "string", value: "<key>", about: "the key that leaves: ctrl-], or none" },
  },
  examples: [
    "sand attach --new",
    "sand attach --new -- htop",
    "sand attach --list",
    "sand attach --view 4f1c",
  ],
  words: [0, Number.POSITIVE_INFINITY],
  takesCommandLine: true,
  outlivesReader: true,
  run,
};

async function run(context: CommandContext, input: CommandInput): Promise<ExitName | number> {
  const server = needServer(context);
  if (input.flag("list")) return await list(context, server);
  const isNew = input.flag("new");
  if (!isNew && input.words.length > 1)
    throw new CommandFailure("usage", "one terminal at a time", { hint: "sand attach --new -- <command>" });
  const mode = input.flag("view") ? "view" : "write";
  requireTty(mode);
  const detachKey = parseDetachKey(input.text("detach-key") ?? "ctrl-]");
  const id = isNew ? await make(server, input) : await choose(server, input.words[0]);
  return await attach({
    ...{ id, mode, detachKey, takeover: input.flag("takeover") },
    ...{ locate: () => findPtyServer(context), note: context.terminal.note },
  });
}

function needServer(context: CommandContext): PtyServer {
  const server = findPtyServer(context);
  if (server !== undefined) return server;
  throw noDaemon();
}

function requireTty(mode: "write" | "view"): void {
  if (process.stdout.isTTY && (mode === "view" || process.stdin.isTTY)) return;
  throw new CommandFailure("usage", "sand attach needs a terminal of its own on both sides", {
    hint: "for a command in a script: sand exec",
  });
}

async function list({ terminal }: CommandContext, server: PtyServer): Promise<ExitName> {
  const rows = await listTerminals(server);
  if (rows.length === 0) terminal.line("No terminal here. Make one: sand attach --new");
  for (const row of rows) {
    if (terminal.json) terminal.result(row);
    else {
      const seen = row.written ? "in use" : row.viewers > 0 ? "looked at" : "alone";
      terminal.line(`${row.id}  ${row.state}  ${row.size}  ${seen}  ${row.command}`);
    }
  }
  return "ok";
}

async function make(server: PtyServer, input: CommandInput): Promise<string> {
  const cwd = input.text("cwd");
  return await spawnTerminal(server, {
    ...{ ...sizeOf(process.stdout), ...(cwd === undefined ? {} : { cwd }) },
    ...(input.words.length === 0 ? {} : { argv: input.words }),
  });
}

/** The one that is meant: by its id, by what only one id begins with, or because there is only one. */
async function choose(server: PtyServer, word: string | undefined): Promise<string> {
  const rows = await listTerminals(server);
  const exact = rows.find((row) => row.id === word);
  if (exact !== undefined) return exact.id;
  const meant = rows.filter((row) =>
    word === undefined ? row.state === "running" : row.id.startsWith(word),
  );
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return only.id;
  if (only === undefined) {
    throw new CommandFailure(
      "notFound",
      word === undefined ? "no terminal runs" : `there is no terminal ${word}`,
      {
        hint: word === undefined ? "make one: sand attach --new" : "sand attach --list",
      },
    );
  }
  throw new CommandFailure("usage", `which one? ${meant.map((row) => row.id).join(", ")}`, {
    hint: "sand attach --list shows what runs there",
  });
}
