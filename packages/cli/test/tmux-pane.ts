/** A person's terminal for a test: a pane of tmux, driven by keys and read as a screen. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { type TestHome, waitFor } from "./run-sand.ts";

const isRequired = (process.env.SAND_TEST_REQUIRE ?? "").includes("terminals");
export const hasTmux = isRequired || spawnSync("tmux", ["-V"]).status === 0;

export interface Pane extends Disposable {
  keys(...keys: readonly string[]): void;
  line(text: string): void;
  resize(cols: number, rows: number): void;
  screen(): string;
  shows(pattern: RegExp): Promise<void>;
}

/** A shell in a terminal of 100 columns. */
export function openPane(home: TestHome, name: string): Pane {
  const env = { ...home.environment, TERM: "xterm-256color", LANG: "C.UTF-8", PS1: "outer$ " };
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-S", join(home.folder, `${name}.tmux`), "-f", "/dev/null", ...args], {
      ...{ env, encoding: "utf8", timeout: 20_000 },
    });
  tmux("new-session", "-d", "-x", "100", "-y", "30", "env", "-u", "ENV", "sh", ";", "set", "status", "off");
  const screen = (): string => tmux("capture-pane", "-p", "-S", "-200");
  const keys = (...pressed: readonly string[]): void => {
    tmux("send-keys", ...pressed);
  };
  return {
    keys,
    screen,
    line(text) {
      tmux("send-keys", "-l", text);
      keys("Enter");
    },
    resize: (cols, rows) => {
      tmux("resize-window", "-x", String(cols), "-y", String(rows));
    },
    async shows(pattern) {
      try {
        await waitFor(String(pattern), () => pattern.test(screen()), 25_000);
      } catch (error) {
        throw new Error(`no ${pattern} in:\n${screen()}`, { cause: error });
      }
    },
    [Symbol.dispose]: () => {
      tmux("kill-server");
    },
  };
}
