/** `sand replay`: runs turns again from their journals, without a model, a box or a host. */
import { resolve } from "node:path";
import type { TurnReplay } from "@sand/store/offline";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { askOffline } from "../offline/offline-process.ts";
import { oneLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

export const replayCommand: Command = {
  name: "replay",
  summary: "run turns again from their journals, and tell the first divergence",
  usage: "replay [<turn>] [options]",
  details: [
    "Decides again what each turn did, with the answers and results that were recorded, and compares: requests,",
    "calls, their order, retries, the end. It ends with 1 when something diverged. Nothing is run and no model",
    "is asked; a host may run meanwhile. Tool calls name their turn: sand transcript <agent> --json.",
    "A turn goes into one file for a test with --export, and is replayed from there with --import.",
  ].join("\n"),
  options: {
    agent: {
      type: "string",
      value: "<agent>",
      about: "all turns of this agent, or where to look for <turn>",
    },
    export: { type: "string", value: "<file>", about: "write <turn> into a file instead" },
    import: { type: "string", value: "<file>", about: "replay the turn in a file" },
  },
  examples: [
    "sand replay --agent main",
    "sand replay 5f0c1a52-4f6e-4d0b-9a43-0d6f6b1b7c11",
    "sand replay 5f0c1a52-4f6e-4d0b-9a43-0d6f6b1b7c11 --export turn.json",
    "sand replay --import turn.json",
  ],
  words: [0, 1],
  run: replay,
};

async function replay(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { dataRoot: root, currentFolder, terminal } = context;
  const [turnId = null] = input.words;
  const agent = input.text("agent") ?? null;
  const target = input.text("export");
  const source = input.text("import");
  if (source !== undefined && (turnId ?? agent ?? target ?? null) !== null)
    throw new CommandFailure("usage", "--import takes no turn, --agent or --export");
  if (source !== undefined)
    return await tell(context, { kind: "replay-fixture", file: resolve(currentFolder, source) });
  if (target !== undefined) {
    if (turnId === null) throw new CommandFailure("usage", "name the turn that is to be exported");
    const file = resolve(currentFolder, target);
    const answer = await askOffline(context, { kind: "export-turn", root, turnId, agent, file });
    terminal.result(answer);
    terminal.line(`The turn is in ${file}.`);
    return "ok";
  }
  if (turnId === null && agent === null) {
    throw new CommandFailure("usage", "name a turn, or an agent with --agent", {
      hint: "see sand replay --help",
    });
  }
  return await tell(context, { kind: "replay", root, turnId, agent });
}

async function tell(context: CommandContext, call: Parameters<typeof askOffline>[1]): Promise<ExitName> {
  const { terminal } = context;
  const answer = await askOffline(context, call, ({ agentId, replay: turn }) => {
    terminal.result({ agentId, ...turn });
    showTurn(terminal, turn);
  });
  if (answer.kind !== "replayed") return "failed";
  const { turns, diverged, records } = answer;
  terminal.line(
    diverged === 0
      ? `${turns} ${turns === 1 ? "turn" : "turns"} with ${records} records: no divergence.`
      : `${diverged} of ${turns} turns diverged.`,
  );
  return diverged === 0 ? "ok" : "failed";
}

const shownMaxChars = 300;

function showTurn(terminal: Terminal, turn: TurnReplay): void {
  const name = terminal.paint("bold", turn.turnId);
  if (turn.kind === "same") {
    const open = turn.next === null ? "" : `, still open: ${turn.next} comes next`;
    const unchecked =
      turn.requestsUnchecked === 0 ? "" : `, ${turn.requestsUnchecked} requests can't be checked`;
    terminal.line(`${name}  same: ${turn.records} records, ${turn.steps} steps${unchecked}${open}`);
    return;
  }
  const { ordinal, recordKind, step, difference } = turn;
  const where = step === null ? "" : ` of step ${step}`;
  terminal.line(`${name}  diverges at record ${ordinal}, ${recordKind}${where}: ${difference.what}`);
  terminal.line(`  recorded  ${oneLine(JSON.stringify(difference.recorded), shownMaxChars)}`);
  terminal.line(`  replayed  ${oneLine(JSON.stringify(difference.replayed), shownMaxChars)}`);
}
