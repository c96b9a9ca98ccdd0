/** Reads what `git diff --raw --numstat -z` prints: pure. Names are bytes, one character each. */
import { DiffStatus } from "@sand/protocol/exec";
import { asRaw, type RawPath } from "../raw-path.ts";

export interface GitChange {
  readonly status: DiffStatus;
  readonly path: RawPath;
  readonly oldPath: RawPath | undefined;
  readonly addedLines: number;
  readonly removedLines: number;
  readonly binary: boolean;
}

type Lines = Pick<GitChange, "addedLines" | "removedLines" | "binary">;

type Change = Omit<GitChange, keyof Lines>;

/** Records that are cut off at the end are left out. */
export function parseGitChanges(output: string): readonly GitChange[] {
  const tokens = output.split("\0");
  tokens.pop();
  const changes: Change[] = [];
  const lines = new Map<string, Lines>();
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if (!token.startsWith(":")) {
      const counted = readCounts(token, tokens);
      if (counted !== undefined) lines.set(...counted);
      continue;
    }
    const change = readChange(token, tokens);
    if (change !== undefined) changes.push(change);
  }
  const none: Lines = { addedLines: 0, removedLines: 0, binary: false };
  return changes.map((change) => ({ ...change, ...(lines.get(change.path) ?? none) }));
}

function readChange(token: string, next: string[]): Change | undefined {
  const letter = token.slice(token.lastIndexOf(" ") + 1);
  const first = next.shift();
  const second = /^[RC]/u.test(letter) ? next.shift() : undefined;
  if (first === undefined) return undefined;
  return {
    status: statusOf(letter),
    path: asRaw(second ?? first),
    oldPath: second === undefined ? undefined : asRaw(first),
  };
}

function readCounts(token: string, next: string[]): readonly [string, Lines] | undefined {
  const [, added = "", removed = "", name = ""] = /^(\d+|-)\t(\d+|-)\t(.*)$/su.exec(token) ?? [];
  // Of a rename the two names follow by themselves.
  if (name === "") next.shift();
  const path = name === "" ? next.shift() : name;
  if (path === undefined) return undefined;
  const binary = added === "-";
  return [
    path,
    { addedLines: binary ? 0 : Number(added), removedLines: binary ? 0 : Number(removed), binary },
  ];
}

function statusOf(letter: string): DiffStatus {
  if (letter.startsWith("A") || letter.startsWith("C")) return DiffStatus.ADDED;
  if (letter.startsWith("D")) return DiffStatus.REMOVED;
  if (letter.startsWith("R")) return DiffStatus.RENAMED;
  return letter.startsWith("T") ? DiffStatus.TYPE_CHANGED : DiffStatus.MODIFIED;
}
