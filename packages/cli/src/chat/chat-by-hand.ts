/**
 * `sand chat` at a terminal. The input line is shown while the agent is idle; what is typed while it works is a prompt
 * all the same and joins the running turn. Ctrl-C interrupts a running turn; a second one, or one while idle, leaves.
 */
import { clearLine, createInterface, cursorTo } from "node:readline";
import type { ExitName } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";
import type { Conversation } from "./conversation.ts";
import { createLineGatherer } from "./gather-lines.ts";

/** The input line and the output share one screen: output first takes the input line away. */
export interface ChatScreen {
  readonly print: (text: string) => void;
  readonly onRunning: () => void;
  showsPrompt: boolean;
  /** set once somebody can type */
  watchTurn: () => void;
}

export interface ByHandOptions {
  readonly terminal: Terminal;
  readonly conversation: Conversation;
  readonly screen: ChatScreen;
}

const historyMax = 500;
const help = "/quit leaves, Ctrl-C interrupts a turn; anything else is a prompt, also while a turn runs";

export function createChatScreen(terminal: Terminal): ChatScreen {
  const screen: ChatScreen = {
    showsPrompt: false,
    watchTurn: () => undefined,
    onRunning: () => screen.watchTurn(),
    print: (text) => {
      if (screen.showsPrompt) {
        clearLine(process.stdout, 0);
        cursorTo(process.stdout, 0);
        screen.showsPrompt = false;
      }
      terminal.write(text);
    },
  };
  return screen;
}

export async function chatByHand(options: ByHandOptions): Promise<ExitName> {
  const { terminal, conversation, screen } = options;
  const left = Promise.withResolvers<ExitName>();
  const leaving = new AbortController();
  const input = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: terminal.paint("bold", "> "),
    historySize: historyMax,
  });
  const ask = (): void => {
    if (leaving.signal.aborted) return;
    screen.showsPrompt = true;
    input.prompt(true);
  };
  const turns = createTurnWatch(conversation, leaving.signal, ask);
  const gatherer = createLineGatherer({
    onText: (text) => {
      if (text.trim() === "/quit") left.resolve("ok");
      else void takePrompt(options, text, turns, ask);
    },
    unfinished: () => input.line,
    schedule: (callback, ms) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  });
  input.on("line", (line) => gatherer.push(line));
  input.on("close", () => left.resolve("ok"));
  input.on("SIGINT", () => {
    if (!turns.interrupt()) return left.resolve("interrupted");
    terminal.note("interrupting the turn … (Ctrl-C again to leave)");
  });
  conversation.done.catch((error: unknown) => left.reject(error));
  screen.watchTurn = () => void turns.watch().catch((error: unknown) => left.reject(error));
  // A turn may be running already when we come.
  screen.watchTurn();
  try {
    return await left.promise;
  } finally {
    leaving.abort();
    input.close();
    if (screen.showsPrompt) terminal.line();
  }
}

interface TurnWatch {
  /** waits until the agent is idle, then asks for the next prompt; one wait serves all who ask */
  watch(): Promise<void>;
  /** false when there is nothing to interrupt, or it was asked for already */
  interrupt(): boolean;
  isWatching(): boolean;
}

function createTurnWatch(conversation: Conversation, leaving: AbortSignal, onIdle: () => void): TurnWatch {
  let watching = false;
  let interrupted = false;
  return {
    isWatching: () => watching,
    interrupt: () => {
      if (!watching || interrupted) return false;
      interrupted = true;
      conversation.interrupt();
      return true;
    },
    watch: async () => {
      if (watching) return;
      watching = true;
      try {
        await conversation.waitUntilIdle(leaving);
      } finally {
        watching = false;
        interrupted = false;
      }
      onIdle();
    },
  };
}

async function takePrompt(
  { terminal, conversation, screen }: ByHandOptions,
  text: string,
  turns: TurnWatch,
  ask: () => void,
): Promise<void> {
  screen.showsPrompt = false;
  if (text.trim() === "" || text.trim() === "/help") {
    if (text.trim() !== "") terminal.note(help);
    if (!turns.isWatching()) ask();
    return;
  }
  try {
    await conversation.submit({ text, nonce: crypto.randomUUID() });
    await turns.watch();
  } catch (error) {
    // One prompt that wasn't taken is no reason to leave: the person reads why and goes on.
    terminal.note(terminal.paint("red", `! ${error instanceof Error ? error.message : String(error)}`));
    ask();
  }
}
