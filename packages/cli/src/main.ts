/**
 * `sand`, the person's door to a host. This file is the process: it reads the environment and the arguments, runs one
 * command, prints what went wrong and sets the exit status. Nothing else ends the process.
 */
import { fileURLToPath } from "node:url";
import { exportCommand } from "./archive/export-command.ts";
import { importCommand } from "./archive/import-command.ts";
import { backupCommand } from "./backup/backup-command.ts";
import { restoreCommand } from "./backup/restore-command.ts";
import type { Command } from "./command.ts";
import { parseCommandLine } from "./command-line.ts";
import { agentsCommand } from "./commands/agents.ts";
import { attachCommand } from "./commands/attach.ts";
import { chatCommand } from "./commands/chat.ts";
import { createCompletionCommand } from "./commands/completion.ts";
import { cpCommand } from "./commands/cp.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { downCommand } from "./commands/down.ts";
import { eventsCommand } from "./commands/events.ts";
import { execCommand } from "./commands/exec.ts";
import { imageCommand } from "./commands/image.ts";
import { logsCommand } from "./commands/logs.ts";
import { portsCommand } from "./commands/ports.ts";
import { searchCommand } from "./commands/search.ts";
import { sendCommand } from "./commands/send.ts";
import { statusCommand } from "./commands/status.ts";
import { transcriptCommand } from "./commands/transcript.ts";
import { upCommand } from "./commands/up.ts";
import { upgradeCommand } from "./commands/upgrade.ts";
import { watchCommand } from "./commands/watch.ts";
import { readConfig } from "./config.ts";
import { resolveDataRoot } from "./data-root.ts";
import { describeProblem, type Problem } from "./describe-problem.ts";
import { type ExitName, exitCodes } from "./exit-codes.ts";
import { renderCommandHelp, renderOverview } from "./help-text.ts";
import { replayCommand } from "./replay/replay-command.ts";
import { createTerminal } from "./terminal.ts";
import { version } from "./version.ts";

const workCommands: readonly Command[] = [
  upCommand,
  downCommand,
  upgradeCommand,
  statusCommand,
  doctorCommand,
  chatCommand,
  sendCommand,
  agentsCommand,
  transcriptCommand,
  searchCommand,
  eventsCommand,
  execCommand,
  attachCommand,
  cpCommand,
  watchCommand,
  portsCommand,
  imageCommand,
  backupCommand,
  restoreCommand,
  exportCommand,
  importCommand,
  replayCommand,
  logsCommand,
];
const commands: readonly Command[] = [...workCommands, createCompletionCommand(workCommands)];

async function main(argv: readonly string[]): Promise<ExitName | number> {
  const config = readConfig();
  const line = parseCommandLine(commands, argv);
  if (line.kind === "version") {
    process.stdout.write(`${version}\n`);
    return "ok";
  }
  if (line.kind === "help") {
    process.stdout.write(
      `${line.command === undefined ? renderOverview(commands) : renderCommandHelp(line.command)}\n`,
    );
    return line.asked ? "ok" : "usage";
  }
  if (line.command.outlivesReader === undefined) endWithReader();
  const terminal = createTerminal({
    stdout: process.stdout,
    stderr: process.stderr,
    json: line.input.flag("json"),
    noColor: config.noColor,
  });
  return line.command.run(
    {
      config,
      terminal,
      dataRoot: resolveDataRoot(config, line.input.text("data-root")),
      currentFolder: process.cwd(),
      programPath: fileURLToPath(import.meta.url),
      version,
    },
    line.input,
  );
}

function printProblem(problem: Problem, json: boolean): void {
  if (json) {
    process.stderr.write(`${JSON.stringify(problem)}\n`);
    return;
  }
  process.stderr.write(`sand: ${problem.error}\n`);
  if (problem.hint !== undefined) process.stderr.write(`  ${problem.hint}\n`);
}

/** A reader that has seen enough (`sand … | head`) closes the pipe: that is no failure. */
function endWithReader(): void {
  process.stdout.on("error", (error: Error & { readonly code?: string }) => {
    process.exit(error.code === "EPIPE" ? exitCodes.ok : exitCodes.failed);
  });
}

async function run(argv: readonly string[]): Promise<void> {
  try {
    const outcome = await main(argv);
    process.exitCode = typeof outcome === "number" ? outcome : exitCodes[outcome];
  } catch (error) {
    const problem = describeProblem(error);
    printProblem(problem, argv.includes("--json"));
    process.exitCode = problem.exitCode;
  }
}

void run(process.argv.slice(2));
