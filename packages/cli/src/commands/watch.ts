/** `sand watch`: tells of changes to files in the box until Ctrl-C, also over restarts of the daemon. */
import type { FileChange, FilesWatchResponse } from "@sand/protocol/exec";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { type BoxFiles, callOptions, createBoxFiles, isOutage, toFailure } from "../files/box-files.ts";
import { locateDaemon } from "../local-host/locate-daemon.ts";
import { oneLine } from "../plain-text.ts";
import { readCount } from "../read-count.ts";

export const watchCommand: Command = {
  name: "watch",
  summary: "follow changes to files in the box",
  usage: "watch [folder]",
  details: [
    "Tells of what is made, written, removed, renamed and given another mode below a folder of the",
    "box (default: the workspace) until Ctrl-C. Left out are .git, node_modules, .venv, __pycache__",
    "and .cache, or instead of them the names given with --ignore; `--ignore -` leaves out nothing.",
    "",
    "When some changes couldn't be seen a line says so: read again what matters then.",
  ].join("\n"),
  options: {
    ignore: { type: "string", value: "<name>", multiple: true, about: "a name to leave out, wherever it is" },
    flat: { type: "boolean", about: "the folder's own entries alone" },
    limit: { type: "string", value: "<n>", short: "n", about: "end after so many changes" },
  },
  examples: ["sand watch", "sand watch src --ignore dist", "sand watch --json -n 1 results"],
  words: [0, 1],
  run: watch,
};

async function watch(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const limit = readCount("limit", input.text("limit"), { least: 1 }) ?? Number.POSITIVE_INFINITY;
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  process.once("SIGINT", leave);
  const box = createBoxFiles({
    locate: () => locateDaemon(context),
    onOutage: () => terminal.note("sand: the execution daemon is gone; waiting for it …"),
    signal: leaving.signal,
  });
  const request = {
    path: input.words[0] ?? ".",
    recursive: !input.flag("flat"),
    ignore: [...input.list("ignore")],
  };
  let shown = 0;
  try {
    for await (const event of follow(context, box, request, leaving.signal)) {
      if (event.case !== "change") {
        tell(context, event);
        continue;
      }
      shown += 1;
      show(context, event.value);
      if (shown >= limit) break;
    }
  } finally {
    process.off("SIGINT", leave);
    leaving.abort();
  }
  return "ok";
}

type WatchEvent = FilesWatchResponse["event"];
type WatchRequest = { readonly path: string; readonly recursive: boolean; readonly ignore: string[] };

/** One stream after another, for as long as the daemon comes back. */
async function* follow(
  context: CommandContext,
  box: BoxFiles,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void, undefined> {
  let hasStarted = false;
  while (!signal.aborted) {
    // Waits for a daemon that was there before, and says what is wrong with the folder.
    await box.call((files) => files.stat({ path: request.path, follow: true }, callOptions));
    const files = await box.client();
    try {
      for await (const { event } of files.watch(request, { signal })) {
        if (event.case === "started" && hasStarted)
          context.terminal.note("sand: watching again; changes in between weren't seen");
        hasStarted ||= event.case === "started";
        yield event;
      }
      if (signal.aborted) return;
      throw new CommandFailure("notFound", "the watched folder is gone");
    } catch (error) {
      if (signal.aborted) return;
      const failure = await toFailure(error);
      if (!hasStarted || !isOutage(failure)) throw failure;
    }
  }
}

const words = ["?", "create", "write", "remove", "rename", "chmod"] as const;
const wordChars = Math.max(...words.map((word) => word.length));

function show({ terminal }: CommandContext, change: FileChange): void {
  const kind = words[change.type] ?? "?";
  const name = nameOf(change.name, terminal.columns);
  const from = change.oldName === "" ? "" : `${nameOf(change.oldName, terminal.columns)} → `;
  terminal.line(`${terminal.paint("dim", kind.padEnd(wordChars))}  ${from}${name}`);
  const old = change.oldName === "" ? {} : { oldName: change.oldName };
  const bytes =
    change.nameBytes.length === 0 ? {} : { nameBase64: Buffer.from(change.nameBytes).toString("base64") };
  terminal.result({ kind, name: change.name, ...old, ...bytes });
}

function nameOf(name: string, columns: number): string {
  return oneLine(name, Math.max(20, columns * 4));
}

function tell({ terminal }: CommandContext, event: WatchEvent): void {
  if (event.case === "started")
    terminal.note(`sand: watching ${event.value.entries} entries in ${event.value.folders} folders`);
  if (event.case !== "overflow") return;
  terminal.note(`sand: some changes weren't seen: ${event.value.reason}`);
  terminal.result({ kind: "overflow", reason: event.value.reason });
}
