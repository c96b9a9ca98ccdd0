/** What a person would see: the text of a screen, drawn by us or by tmux. */
import { execFileSync } from "node:child_process";
import headless from "@xterm/headless";
import { until } from "./daemon-process.ts";
import type { PtyClient } from "./pty-world.ts";

/** Draws bytes on a screen of that size and reads its lines, without the blanks at their ends. */
export async function drawScreen(data: string | Uint8Array, cols: number, rows: number): Promise<string[]> {
  const screen = new headless.Terminal({ cols, rows, allowProposedApi: true, scrollback: 1000 });
  await new Promise<void>((resolve) => screen.write(data, resolve));
  const { active } = screen.buffer;
  const lines = Array.from({ length: rows }, (_, row) =>
    (active.getLine(active.baseY + row)?.translateToString(true) ?? "").trimEnd(),
  );
  screen.dispose();
  return lines;
}

/** The screen of a client that was brought up to date by a picture and has followed since. */
export async function screenOf(client: PtyClient, cols: number, rows: number): Promise<string[]> {
  const picture = client.control.findLast(({ type }) => type === "snapshot");
  return await drawScreen(
    Buffer.concat([Buffer.from(String(picture?.data ?? "")), client.output()]),
    cols,
    rows,
  );
}

export interface TmuxScreen {
  type(...keys: readonly string[]): void;
  resize(cols: number, rows: number): void;
  lines(): string[];
  dispose(): void;
}

export interface TmuxRun {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly cols: number;
  readonly rows: number;
}

/** The same program in a tmux of its own. */
export function openTmux(socket: string, { argv, cwd, cols, rows }: TmuxRun): TmuxScreen {
  const env = { PATH: process.env.PATH ?? "", HOME: cwd, LANG: "C.UTF-8", TERM: "xterm-256color" };
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], {
      env,
      cwd,
      encoding: "utf8",
      timeout: 20_000,
    });
  tmux("new-session", "-d", "-x", String(cols), "-y", String(rows), ";", "set", "status", "off");
  tmux("set", "-g", "default-terminal", "xterm-256color");
  tmux("respawn-pane", "-k", "-c", cwd, "env", "TERM=xterm-256color", ...argv);
  return {
    type: (...keys) => {
      tmux("send-keys", ...keys);
    },
    resize: (x, y) => {
      tmux("resize-window", "-x", String(x), "-y", String(y));
    },
    lines: () =>
      tmux("capture-pane", "-p")
        .split("\n")
        .slice(0, -1)
        .map((line) => line.trimEnd()),
    dispose: () => {
      tmux("kill-server");
    },
  };
}

/** Waits until two screens are the same, and says where they differ when they never are. */
export async function expectSameScreen(
  ours: () => Promise<readonly string[]>,
  theirs: () => readonly string[],
  pick: (lines: readonly string[]) => readonly string[] = (lines) => lines,
): Promise<readonly string[]> {
  let seen: readonly (readonly string[])[] = [];
  try {
    return await until("both screens are the same", async () => {
      const [a, b] = [pick(await ours()), pick(theirs())];
      seen = [a, b];
      return a.some((line) => line !== "") && JSON.stringify(a) === JSON.stringify(b) ? a : undefined;
    });
  } catch (error) {
    const [a = [], b = []] = seen;
    const rows = a.flatMap((line, row) =>
      line === b[row] ? [] : [`${row}: ${JSON.stringify(line)} | ${JSON.stringify(b[row])}`],
    );
    throw new Error(`the screens differ (ours | tmux):\n${rows.join("\n")}`, { cause: error });
  }
}
