/** `sand cp`: copies files between here and the box, either way; the same command again goes on where it stopped. */
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { type BoxFiles, createBoxFiles } from "../files/box-files.ts";
import { asBytePath, type BytePath, bytePathOf, joinBytes } from "../files/byte-path.ts";
import { type CopyEnds, parseCopyEnds } from "../files/copy-ends.ts";
import { bytesText, type CopyTotals, createCopyTally } from "../files/copy-tally.ts";
import { fetchPath, isFolderInfo, statInBox } from "../files/fetch-tree.ts";
import { sendPath } from "../files/send-tree.ts";
import { locateDaemon } from "../local-host/locate-daemon.ts";

export const cpCommand: Command = {
  name: "cp",
  summary: "copy files into the box or out of it",
  usage: "cp [-r] <source …> <destination>",
  details: [
    "A path that begins with `box:` lies in the box, relative to the workspace there; any other",
    "lies here. A destination that is a folder, or ends with a slash, takes the sources under",
    "their own names; with several sources it has to be one.",
    "",
    "Modes are kept, links stay links. A file shows at its destination only when it is whole. A",
    "copy that was interrupted is taken up by the same command: what has arrived isn't sent again.",
  ].join("\n"),
  options: {
    recursive: { type: "boolean", short: "r", about: "copy folders with all that is in them" },
    quiet: { type: "boolean", short: "q", about: "don't show how far it is" },
  },
  examples: [
    "sand cp data.csv box:",
    "sand cp -r src tests box:project/",
    "sand cp box:report.pdf .",
    "sand cp -r box:dist ./dist",
  ],
  words: [2, Number.POSITIVE_INFINITY],
  run: copy,
};

async function copy(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const ends = parseCopyEnds(input.words);
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  process.once("SIGINT", leave);
  const box = createBoxFiles({
    locate: () => locateDaemon(context),
    onOutage: () => terminal.note("sand: the execution daemon is gone; waiting for it …"),
    signal: leaving.signal,
  });
  const isShown = process.stderr.isTTY === true && !terminal.json && !input.flag("quiet");
  const tally = createCopyTally({
    draw: isShown ? (text) => void process.stderr.write(text) : undefined,
    note: terminal.note,
    nowMs: () => performance.now(),
  });
  const deps = { box, tally, signal: leaving.signal };
  try {
    const intoFolder = ends.intoFolder || (await isFolder(context, ends, box));
    for (const source of ends.sources) {
      const pair = pairOf(context, ends, source, intoFolder);
      const work = ends.direction === "into-box" ? sendPath : fetchPath;
      await work(deps, pair, input.flag("recursive"));
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
    throw new CommandFailure("interrupted", "left; the same command goes on from here");
  } finally {
    process.off("SIGINT", leave);
    tally.clear();
  }
  report(context, tally.totals);
  return tally.totals.skipped === 0 ? "ok" : "failed";
}

async function isFolder(context: CommandContext, ends: CopyEnds, box: BoxFiles): Promise<boolean> {
  if (ends.direction === "into-box") return isFolderInfo(await statInBox(box, bytePathOf(ends.destination)));
  const facts = await stat(resolve(context.currentFolder, ends.destination)).catch(() => undefined);
  return facts?.isDirectory() === true;
}

interface Pair {
  readonly source: BytePath;
  readonly destination: BytePath;
}

function pairOf(context: CommandContext, ends: CopyEnds, source: string, intoFolder: boolean): Pair {
  const here = (path: string): BytePath => bytePathOf(resolve(context.currentFolder, path));
  const there = (path: string): BytePath => bytePathOf(path);
  const [from, to] = ends.direction === "into-box" ? [here, there] : [there, here];
  const destination = to(ends.destination);
  const name = basename(from(source));
  // A source like `..` or `/` has no name to be put under.
  const isNamed = !["", ".", ".."].includes(name);
  return {
    source: from(source),
    destination: intoFolder && isNamed ? joinBytes(destination, asBytePath(name)) : destination,
  };
}

function report({ terminal }: CommandContext, totals: CopyTotals): void {
  const files = totals.files === 1 ? "1 file" : `${totals.files} files`;
  const resumed = totals.resumedBytes === 0 ? "" : `, ${bytesText(totals.resumedBytes)} were there already`;
  terminal.line(`copied ${files}, ${bytesText(totals.bytes)}${resumed}`);
  terminal.result({ ...totals });
}
