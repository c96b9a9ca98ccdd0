/** Checks a request to start and computes the digest that tells a repeat from a conflict. Pure. */
import { createHash } from "node:crypto";
import { BoxError } from "@sand/protocol";
import type { StartRequest } from "@sand/protocol/exec";
import { markerName } from "../ledger/execution-folder.ts";
import { limits } from "../limits.ts";

/** Throws `exec/invalid` or `exec/unsupported` with what is wrong. */
export function validateStart(request: StartRequest): void {
  const problem = findProblem(request);
  if (problem !== undefined) throw new BoxError("exec/invalid", problem);
  if (request.tty)
    throw new BoxError("exec/unsupported", "terminals are not built yet: start it without tty");
  if (request.user !== "")
    throw new BoxError("exec/unsupported", "commands run as the daemon's default account here");
}

function findProblem(request: StartRequest): string | undefined {
  if (request.processId === "" || request.processId.length > limits.idMaxChars)
    return "process_id is empty or too long";
  if (request.processId.includes("\0")) return "process_id holds a NUL";
  return (
    findCommandProblem(request) ??
    findEnvProblem(request) ??
    findRootProblem(request) ??
    findLabelProblem(request)
  );
}

function findCommandProblem(request: StartRequest): string | undefined {
  const words = wordsOf(request);
  if (words.length === 0 || words[0] === "") return "there is no command";
  if (words.length > limits.argsMax) return "the command has too many arguments";
  if (words.some((word) => word.includes("\0"))) return "the command holds a NUL";
  // One argument may have 128 KiB, whatever the sum.
  if (words.reduce((sum, word) => sum + Buffer.byteLength(word), 0) > limits.commandMaxBytes)
    return "the command is too long";
  if (request.killMs > BigInt(Number.MAX_SAFE_INTEGER)) return "kill_ms is too large";
  return undefined;
}

function wordsOf(request: StartRequest): readonly string[] {
  switch (request.command.case) {
    case "shell":
      return [request.command.value];
    case "argv":
      return request.command.value.args;
    case undefined:
      return [];
  }
}

function findEnvProblem(request: StartRequest): string | undefined {
  const entries = Object.entries(request.env);
  if (entries.some(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name)))
    return "env has a name that no shell can use";
  if (entries.some(([name]) => name === markerName)) return `env may not set ${markerName}`;
  if (entries.some(([, value]) => value.includes("\0"))) return "env holds a NUL";
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);
  return bytes > limits.envMaxBytes ? "env is too large" : undefined;
}

function findRootProblem(request: StartRequest): string | undefined {
  const { writableRoots = [], maskedPaths = [], protectedPaths = [] } = request.sandbox ?? {};
  const roots = [...writableRoots, ...maskedPaths, ...protectedPaths];
  if (roots.length > limits.rootsMax) return "too many sandbox paths";
  return roots.every((root) => root.startsWith("/") && !root.includes("\0"))
    ? undefined
    : "sandbox paths must be absolute";
}

function findLabelProblem(request: StartRequest): string | undefined {
  const entries = Object.entries(request.labels);
  if (entries.length > limits.labelsMax) return "too many labels";
  const bytes = entries.reduce((sum, entry) => sum + Buffer.byteLength(entry.join("")), 0);
  return bytes > limits.labelsMaxBytes ? "the labels are too large" : undefined;
}

/** The order of the environment's entries is the sender's accident and doesn't count. */
export function computeDigest(request: StartRequest): string {
  const sorted = (map: Readonly<Record<string, string>>) =>
    Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  const env = sorted(request.env);
  const labels = sorted(request.labels);
  const body = [
    ...[request.processId, request.command.case ?? "", wordsOf(request), request.cwd, env, request.user],
    ...[request.tty, request.stdin, request.sandbox?.writableRoots ?? [], request.sandbox?.maskedPaths ?? []],
    ...[request.display, request.lineage?.agentId ?? "", request.lineage?.turnId ?? ""],
    ...[request.background, String(request.killMs)],
    // Absent where there are none, so that what was started before there were labels has the digest that it had.
    ...(labels.length === 0 ? [] : [labels]),
    ...strictnessOf(request),
  ];
  return createHash("sha256").update(JSON.stringify(body)).digest("hex");
}

/** Nothing where nothing is asked for, so that a request from before these existed keeps its digest. */
function strictnessOf({ sandbox }: StartRequest): readonly unknown[] {
  const asked = [
    ...[sandbox?.protectedPaths ?? [], sandbox?.readOnlyWorkspace ?? false, sandbox?.withoutNetwork ?? false],
  ];
  return JSON.stringify(asked) === "[[],false,false]" ? [] : asked;
}
