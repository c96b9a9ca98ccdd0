import { expect, test } from "vitest";
import { terminalFileLimits } from "./shell-limits.ts";
import { hasFooter, terminalFooter, terminalHeader } from "./terminal-text.ts";

const facts = { pid: 7, cwd: "/w", command: "a\nb", status: "running", startedAtMs: 0 } as const;
const exit = { timedOut: false, oomKilled: false, reason: "exited", message: "", endedAtMs: 1500 } as const;

test("a header is one line for each fact, whatever is in them", () => {
  expect(terminalHeader(facts)).toBe(
    '---\npid: 7\ncwd: "/w"\ncommand: "a\\nb"\nstatus: running\nstarted_at: 1970-01-01T00:00:00.000Z\n---\n',
  );
  const long = terminalHeader({ ...facts, command: "x".repeat(1_000_000) });
  expect(long.length).toBeLessThan(terminalFileLimits.commandMaxBytes + 200);
});

test.each([
  [
    { outcome: "known", seq: 2, exit: { ...exit, code: 3, signal: null } } as const,
    "exit_code: 3\nelapsed_ms: 1500",
  ],
  [
    { outcome: "known", seq: 2, exit: { ...exit, code: null, signal: "SIGTERM" } } as const,
    "exit_code: 143\nsignal: SIGTERM\nelapsed_ms: 1500",
  ],
  [{ outcome: "unknown", seq: 2, reason: "lost" } as const, "exit_code: unknown"],
])("a footer says how it ended, and is known as one: %#", (record, lines) => {
  const footer = terminalFooter(record, 0);
  expect(footer).toBe(`\n---\n${lines}\n---\n`);
  expect(hasFooter(`${terminalHeader(facts)}output${footer}`)).toBe(true);
  expect(hasFooter(`${terminalHeader(facts)}output`)).toBe(false);
});
