/** `sand backup`: a snapshot of the data root, whether a host runs on it or not. */
import { callBoxStore } from "@sand/store/box-store";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import type { ExitName } from "../exit-codes.ts";
import { describeBytes, describeFacts, noteSkipped } from "./show-snapshot.ts";
import { storeAccess, storeProcess } from "./store-access.ts";

export const backupCommand: Command = {
  name: "backup",
  summary: "take a snapshot of agents and settings",
  usage: "backup [options]",
  details: [
    "Copies agents, with their conversations, memory, routines and files, workflows and settings to a box",
    "store: a folder, or S3-compatible storage. A host may run meanwhile. What the store has already isn't",
    "copied again. Tokens, logins and browser profiles are left out. A store belongs to one data root.",
    "S3 takes its credentials from SAND_BOX_STORE_ACCESS_KEY_ID and SAND_BOX_STORE_SECRET_ACCESS_KEY, and its",
    "server from SAND_BOX_STORE_ENDPOINT.",
  ].join("\n"),
  options: {
    to: { type: "string", value: "<store>", about: "a folder or s3://bucket/prefix (else SAND_BOX_STORE)" },
    "take-over": { type: "boolean", about: "take the store away from the data root that it belongs to" },
  },
  examples: ["sand backup --to /mnt/backups/sand", "sand backup --to s3://boxes/laptop"],
  words: [0, 0],
  run: backup,
};

async function backup(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const store = storeAccess(context, input.text("to"), "--to");
  const answer = await callBoxStore(storeProcess(context), {
    kind: "snapshot",
    root: context.dataRoot,
    store,
    keep: context.config.boxStoreKeep,
    takeOver: input.flag("take-over"),
    gentle: false,
  });
  if (answer.kind !== "snapshot") return "failed";
  const { facts, isNew, uploadedBytes, problem } = answer;
  terminal.result(answer);
  terminal.line(
    isNew
      ? `${terminal.paint("bold", facts.id)}  ${describeFacts(facts)}; ${describeBytes(uploadedBytes)} were new`
      : `Nothing has changed since ${terminal.paint("bold", facts.id)}.`,
  );
  noteSkipped(terminal, facts);
  if (problem !== null) terminal.note(`  old snapshots were not taken away: ${problem.message}`);
  return facts.skipped.length === 0 ? "ok" : "failed";
}
