/**
 * `sand chat` at a terminal. The input line is shown while the agent is idle; what is typed while it works is a prompt
 * all the same and joins the running turn. Ctrl-C interrupts a running turn; a second one, or one while idle, leaves.
 */
import { clearLine, createInterface, cursorTo } from "node:readline";
import type { ExitName } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";
import type { Conversation } from "./conversation.ts";
import { createLineGatherer } from "./gather-lines.ts";

export interface ByHandOptions {
  readonly terminal: Terminal;
  readonly conversation: Conversation;
  readonly screen: ChatScreen;
}

/** The input line and the output share one screen: output first takes the input line away. */
export interface ChatScreen {
  readonly onOutput: (print: () => void) => void;
  showsPrompt: boolean;
}

const historyMax = 500;
const help = "/quit leaves, Ctrl-C interrupts a turn; anything else is a prompt, also while a turn runs";

export function createChatScreen(): ChatScreen {
  const screen: ChatScreen = {
    showsPrompt: false,
    onOutput: (print) => {
      if (screen.showsPrompt) {
        clearLine(process.stdout, 0);
        cursorTo(process.stdout, 0);
        screen.showsPrompt = false;
      }
      print();
    },
  };
  return screen;
}

export async function chatByHand({ terminal, conversation, screen }: ByHandOptions): Promise<ExitName> {
  const left = Promise.withResolvers<ExitName>();
  const leaving = new AbortController();
  const input = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: terminal.paint("bold", "> "),
    historySize: historyMax,
  });
  let interrupted = false;
  let waiting = false;

  const ask = (): void => {
    if (leaving.signal.aborted) return;
    screen.showsPrompt = true;
    input.prompt(true);
  };
  const awaitTurn = async (): Promise<void> => {
    if (waiting) return;
    waiting = true;
    try {
      await conversation.waitUntilIdle(leaving.signal);
    } finally {
      waiting = false;
      interrupted = false;
    }
    ask();
  };
  const submit = async (text: string): Promise<void> => {
    screen.showsPrompt = false;
    if (text.trim() === "/quit") return void left.resolve("ok");
    if (text.trim() === "" || text.trim() === "/help") {
      if (text.trim() !== "") terminal.note(help);
      if (!waiting) ask();
      return;
    }
    try {
      await conversation.submit({ text, nonce: crypto.randomUUID() });
      await awaitTurn();
    } catch (error) {
      // One prompt that wasn't taken is no reason to leave: the person reads why and goes on.
      terminal.note(terminal.paint("red", `! ${error instanceof Error ? error.message : String(error)}`));
      ask();
    }
  };
  const gatherer = createLineGatherer({
    onText: (text) => void submit(text),
    unfinished: () => input.line,
    schedule: (callback, ms) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  });

  input.on("line", (line) => gatherer.push(line));
  input.on("close", () => left.resolve("ok"));
  input.on("SIGINT", () => {
    if (!waiting || interrupted) return left.resolve("interrupted");
    interrupted = true;
    terminal.note("interrupting the turn … (Ctrl-C again to leave)");
    conversation.interrupt();
  });
  conversation.done.catch((error: unknown) => left.reject(error));
  void awaitTurn().catch((error: unknown) => left.reject(error));
  try {
    return await left.promise;
  } finally {
    leaving.abort();
    input.close();
    if (screen.showsPrompt) terminal.line();
  }
}
