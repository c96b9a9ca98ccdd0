/** `sand chat` with a file or a pipe as input: each line is a prompt, the next one goes when the turn is over. */
import { createInterface } from "node:readline";
import type { ExitName } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";
import type { Conversation } from "./conversation.ts";
import { followTurn } from "./follow-turn.ts";

const turnMaxMs = 24 * 3_600 * 1_000;

export async function chatFromInput(conversation: Conversation, terminal: Terminal): Promise<ExitName> {
  let worst: ExitName = "ok";
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) {
    if (line.trim() === "") continue;
    terminal.line(terminal.paint("bold", `> ${line}`));
    const outcome = await followTurn(conversation, terminal, {
      text: line,
      nonce: crypto.randomUUID(),
      timeoutMs: turnMaxMs,
    });
    if (outcome === "interrupted") return outcome;
    if (outcome !== "ok") worst = outcome;
  }
  return worst;
}
