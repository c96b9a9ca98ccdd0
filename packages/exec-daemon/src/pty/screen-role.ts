/**
 * The role `screens`, a worker thread: one headless terminal for each terminal, fed with all its output, so that the
 * screen can be drawn again at any time for whoever comes or has fallen behind. It knows nothing but bytes and sizes.
 */
import { parentPort } from "node:worker_threads";
import serialize from "@xterm/addon-serialize";
import headless from "@xterm/headless";
import { ptyLimits } from "./pty-limits.ts";
import type { ScreenReply, ScreenRequest } from "./screen-messages.ts";
import type { TerminalSize } from "./terminal-backend.ts";

interface Drawn {
  readonly screen: headless.Terminal;
  readonly serializer: serialize.SerializeAddon;
  isCursorHidden: boolean;
}

/** Resolves when the port is closed. */
export async function runScreenRole(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the role `screens` belongs into a worker thread");
  const { promise, resolve } = Promise.withResolvers<void>();
  const drawn = new Map<string, Drawn>();
  const say = (reply: ScreenReply): void => port.postMessage(reply);
  port.on("message", (request: ScreenRequest) => obey(drawn, request, say));
  port.once("close", () => resolve());
  await promise;
}

function obey(drawn: Map<string, Drawn>, request: ScreenRequest, say: (reply: ScreenReply) => void): void {
  if (request.kind === "open") {
    drawn.set(request.id, openScreen(request.id, request, say));
    return;
  }
  const one = drawn.get(request.id);
  if (one === undefined) return;
  switch (request.kind) {
    case "data": {
      const { id, bytes } = request;
      one.screen.write(bytes, () => say({ kind: "drawn", id, bytes: bytes.length }));
      return;
    }
    case "resize":
      // Behind what was written before, like everything on a screen.
      one.screen.write("", () => one.screen.resize(request.cols, request.rows));
      return;
    case "snapshot":
      one.screen.write("", () => say({ kind: "snapshot", id: request.id, turn: request.turn, ...draw(one) }));
      return;
    case "close":
      drawn.delete(request.id);
      one.screen.dispose();
  }
}

function openScreen(id: string, size: TerminalSize, say: (reply: ScreenReply) => void): Drawn {
  const { cols, rows } = size;
  const screen = new headless.Terminal({
    cols,
    rows,
    scrollback: ptyLimits.scrollbackLines,
    allowProposedApi: true,
  });
  const serializer = new serialize.SerializeAddon();
  screen.loadAddon(serializer);
  const one: Drawn = { screen, serializer, isCursorHidden: false };
  screen.onTitleChange((title) => say({ kind: "title", id, title: title.slice(0, ptyLimits.titleMaxChars) }));
  screen.parser.registerOscHandler(7, (text) => {
    const cwd = parseFolderUrl(text);
    if (cwd !== undefined) say({ kind: "cwd", id, cwd });
    return true;
  });
  // The library's picture leaves out whether the cursor is shown.
  for (const [final, isHidden] of [
    ["h", false],
    ["l", true],
  ] as const) {
    screen.parser.registerCsiHandler({ prefix: "?", final }, (params) => {
      if (params.includes(25)) one.isCursorHidden = isHidden;
      return false;
    });
  }
  screen.parser.registerEscHandler({ final: "c" }, () => {
    one.isCursorHidden = false;
    return false;
  });
  return one;
}

function draw({ screen, serializer, isCursorHidden }: Drawn): { data: string } & TerminalSize {
  let scrollback: number = ptyLimits.scrollbackLines;
  let data = serializer.serialize({ scrollback });
  while (data.length > ptyLimits.snapshotMaxChars && scrollback > 0) {
    scrollback = Math.floor(scrollback / 4);
    data = serializer.serialize({ scrollback });
  }
  return { data: isCursorHidden ? `${data}\u001b[?25l` : data, cols: screen.cols, rows: screen.rows };
}

/** `file://host/path`, as shells tell their folder. */
function parseFolderUrl(text: string): string | undefined {
  try {
    const url = new URL(text.slice(0, ptyLimits.titleMaxChars * 4));
    return url.protocol === "file:" ? decodeURIComponent(url.pathname) : undefined;
  } catch {
    // Any program may print anything here.
    return undefined;
  }
}
