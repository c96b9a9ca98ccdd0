/**
 * The contract between the daemon and the process that keeps an execution: one folder, `<root>/executions/<name>/`,
 * 0700. Whoever keeps it, the native shim or a Node process, follows this and nothing else, so either can be replaced.
 *
 * | file            | written by | when and how                                                              |
 * |-----------------|------------|---------------------------------------------------------------------------|
 * | `start.json`    | daemon     | the intent and what to run; synced before it is claimed. A torn one         |
 * |                 |            | without a claim is one that a power cut kept from being accepted            |
 * | `claim.json`    | keeper     | its identity; linked into place, so of two keepers one wins; before a spawn  |
 * | `started.json`  | keeper     | pid, group and start time of the command, after the spawn; whole            |
 * | `out-<n>.log`   | keeper     | the spool: frames as in `spool/frame.ts`; 0 stays, of the others the last   |
 * | `stdin.log`     | daemon     | bytes for standard input, appended; the keeper passes them on               |
 * | `stdin.end`     | daemon     | standard input ends where `stdin.log` ends                                  |
 * | `exit.json`     | keeper     | how it ended; whole, synced soon. The daemon writes `unknown` for a lost one  |
 * | `closed.json`   | keeper     | no output follows; whole, synced soon. The daemon writes it for a lost one    |
 * | `reader.pin`    | daemon     | the lowest segment of the spool that a lossless reader still wants           |
 * | `spool.dropped` | daemon     | long after the end: the spool and the input were dropped to make room         |
 * | `terminal.sock` | shim       | the live end of a terminal, as in `native/terminal.c`                        |
 * | `terminal.size` | daemon     | a terminal's last size, for the daemon after this one                        |
 *
 * 1. Without a claim nothing was ever started in this boot of the machine, and starting is safe.
 * 2. With a claim and no exit record, the keeper lives or the outcome is unknown.
 *    A power cut may take back a claim, and an end that was shown already. The outcome is then unknown: nothing is run
 *    again, for the intent was on disk before the command began, and names the boot that has passed.
 * 3. Sequence numbers: 1 is `started`; each frame has its own; exit and closed carry theirs in their records.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";

export const executionFiles = {
  start: "start.json",
  claim: "claim.json",
  started: "started.json",
  stdin: "stdin.log",
  stdinEnd: "stdin.end",
  exit: "exit.json",
  closed: "closed.json",
  terminal: "terminal.sock",
  terminalSize: "terminal.size",
  readerPin: "reader.pin",
} as const;

export const startedSeq = 1;

/** the variable by which a command and what it leaves behind can be found again */
export const markerName = "SAND_EXECUTION_ID";

export function executionsFolder(dataRoot: string): string {
  return join(dataRoot, "executions");
}

/** An id that is a safe and short file name is its own name; any other is known by its digest. */
export function folderName(executionId: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}$/u.test(executionId)) return executionId;
  return `~${createHash("sha256").update(executionId).digest("hex")}`;
}
