/** The text of a background command's file around its output. Pure. */
import { constants } from "node:os";
import type { ExitRecord } from "../ledger/records.ts";
import { terminalFileLimits } from "./shell-limits.ts";

export interface TerminalFacts {
  readonly pid: number;
  readonly cwd: string;
  readonly command: string;
  readonly status: "running" | "exited" | "unknown";
  readonly startedAtMs: number;
}

/** Folder and command may hold line breaks, so both are written as JSON has them. */
export function terminalHeader(facts: TerminalFacts): string {
  return [
    "---",
    `pid: ${facts.pid}`,
    `cwd: ${JSON.stringify(facts.cwd)}`,
    `command: ${JSON.stringify(shorten(facts.command))}`,
    `status: ${facts.status}`,
    `started_at: ${new Date(facts.startedAtMs).toISOString()}`,
    "---",
    "",
  ].join("\n");
}

export function terminalFooter(exit: ExitRecord | undefined, startedAtMs: number): string {
  const lines = exit?.outcome === "known" ? exitLines(exit.exit, startedAtMs) : ["exit_code: unknown"];
  return ["", "---", ...lines, "---", ""].join("\n");
}

function exitLines(
  exit: { readonly code: number | null; readonly signal: string | null; readonly endedAtMs: number },
  startedAtMs: number,
): readonly string[] {
  const elapsed = `elapsed_ms: ${Math.max(0, exit.endedAtMs - startedAtMs)}`;
  if (exit.signal === null) return [`exit_code: ${exit.code ?? 0}`, elapsed];
  const number = Object.entries(constants.signals).find(([name]) => name === exit.signal)?.[1] ?? 0;
  return [`exit_code: ${128 + number}`, `signal: ${exit.signal}`, elapsed];
}

export function leftOutNote(bytes: number): string {
  return `\n[... ${bytes} bytes left out ...]\n`;
}

/** False for one whose command may still run, or whose end nobody has written yet. */
export function hasFooter(text: string): boolean {
  return /\n---\nexit_code: (?:\d+|unknown)\n(?:signal: \w+\n)?(?:elapsed_ms: \d+\n)?---\n$/u.test(text);
}

function shorten(command: string): string {
  const bytes = Buffer.from(command, "utf8");
  if (bytes.length <= terminalFileLimits.commandMaxBytes) return command;
  return `${bytes.subarray(0, terminalFileLimits.commandMaxBytes).toString("utf8")} …`;
}
