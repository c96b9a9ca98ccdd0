/** One prompt, from handing it over to the end of its turn. Ctrl-C interrupts the turn; again, it leaves. */
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";
import type { Conversation, Submission } from "./conversation.ts";

export async function followTurn(
  conversation: Conversation,
  terminal: Terminal,
  prompt: Submission & { readonly timeoutMs: number },
): Promise<ExitName> {
  const leave = new AbortController();
  let interrupts = 0;
  const onInterrupt = (): void => {
    interrupts += 1;
    if (interrupts > 1) {
      leave.abort();
      return;
    }
    terminal.note("interrupting the turn … (Ctrl-C again to leave it running)");
    conversation.interrupt();
  };
  process.on("SIGINT", onInterrupt);
  try {
    const { timeoutMs, ...submission } = prompt;
    await conversation.submit(submission);
    const isIdle = await conversation.waitUntilIdle(
      AbortSignal.any([leave.signal, AbortSignal.timeout(timeoutMs)]),
    );
    if (interrupts > 0) return "interrupted";
    if (!isIdle) {
      throw new CommandFailure("failed", "the turn isn't over yet; it goes on without this program", {
        hint: `sand transcript ${conversation.agentId} --follow shows it`,
      });
    }
    return conversation.hasFailed() ? "failed" : "ok";
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}
