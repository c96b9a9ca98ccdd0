/** `sand restore`: an empty data root is filled from a snapshot. */
import { callBoxStore } from "@sand/store/box-store";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import type { ExitName } from "../exit-codes.ts";
import { describeFacts, noteSkipped } from "./show-snapshot.ts";
import { storeAccess, storeProcess } from "./store-access.ts";

export const restoreCommand: Command = {
  name: "restore",
  summary: "fill an empty data root from a snapshot",
  usage: "restore [options]",
  details: [
    "Every file is proved by its hash before it is installed, all of them at once. A data root that isn't empty",
    "is refused. A restore that was interrupted goes on when it is called again. The restored data root takes",
    "the store over from the one that the snapshot is of.",
  ].join("\n"),
  options: {
    from: { type: "string", value: "<store>", about: "a folder or s3://bucket/prefix (else SAND_BOX_STORE)" },
    at: {
      type: "string",
      value: "<time|id>",
      about: "the newest snapshot of that time or before, or that one",
    },
    list: { type: "boolean", about: "show the snapshots and restore nothing" },
    "dry-run": { type: "boolean", about: "read and prove all of it, and write nothing" },
  },
  examples: [
    "sand restore --from /mnt/backups/sand --list",
    "sand restore --from s3://boxes/laptop --data-root ~/.sand",
    "sand restore --from /mnt/backups/sand --at 2026-11-30T18:00:00Z --data-root ./then",
  ],
  words: [0, 0],
  run: restore,
};

async function restore(context: CommandContext, input: CommandInput): Promise<ExitName> {
  if (input.flag("list")) return await list(context, input);
  const { terminal, dataRoot: root } = context;
  const dryRun = input.flag("dry-run");
  const answer = await callBoxStore(storeProcess(context), {
    kind: "restore",
    root,
    store: storeAccess(context, input.text("from"), "--from"),
    at: input.text("at") ?? null,
    dryRun,
  });
  if (answer.kind !== "restored") return "failed";
  const { facts, damaged } = answer;
  terminal.result(answer);
  const name = terminal.paint("bold", facts.id);
  const taken = new Date(facts.takenAtMs).toISOString();
  terminal.line(
    dryRun
      ? `${name} of ${taken} is whole: ${describeFacts(facts)}`
      : `${root} is ${name} of ${taken}: ${describeFacts(facts)}`,
  );
  noteSkipped(terminal, facts);
  for (const path of damaged) terminal.note(`  ${path} was damaged when it was backed up`);
  return "ok";
}

async function list(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const store = storeAccess(context, input.text("from"), "--from");
  const answer = await callBoxStore(storeProcess(context), { kind: "list", root: context.dataRoot, store });
  if (answer.kind !== "list") return "failed";
  for (const { id, takenAtMs, number, epoch } of answer.snapshots) {
    const takenAt = new Date(takenAtMs).toISOString();
    terminal.result({ id, takenAtMs, takenAt, number, epoch });
    terminal.line(`${terminal.paint("bold", id.padEnd(16))}  ${takenAt}`);
  }
  if (answer.snapshots.length === 0) terminal.line("The box store has no snapshots.");
  return "ok";
}
