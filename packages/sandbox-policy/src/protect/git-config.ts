/**
 * Reads what a git configuration says about where code comes from that git runs: the folder of hooks, and the files
 * that are included. Only as much of the format as that takes; whatever is odd is read as git would read it or not at
 * all. Pure.
 */

export interface GitConfigFacts {
  readonly hooksPaths: readonly string[];
  readonly includes: readonly string[];
  readonly worktree: string | undefined;
}

export function readGitConfig(text: string): GitConfigFacts {
  const hooksPaths: string[] = [];
  const includes: string[] = [];
  let worktree: string | undefined;
  let section = "";
  for (const line of joinContinued(text)) {
    const header = /^\s*\[\s*([\w.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\](.*)$/u.exec(line);
    if (header !== null) section = (header[1] ?? "").toLowerCase();
    const entry = /^\s*([A-Za-z][\w-]*)\s*=\s*(.*)$/u.exec(header === null ? line : (header[2] ?? ""));
    if (entry === null) continue;
    const key = `${section}.${(entry[1] ?? "").toLowerCase()}`;
    const value = unquote(entry[2] ?? "");
    if (key === "core.hookspath") hooksPaths.push(value);
    if (key === "include.path" || key === "includeif.path") includes.push(value);
    if (key === "core.worktree") worktree = value;
  }
  return { hooksPaths, includes, worktree };
}

function joinContinued(text: string): readonly string[] {
  return text.replace(/\\\r?\n/gu, "").split(/\r?\n/u);
}

/** Up to a comment that isn't within quotes, with the escapes undone. */
function unquote(raw: string): string {
  let isQuoted = false;
  let value = "";
  for (let at = 0; at < raw.length; at += 1) {
    const char = raw[at] ?? "";
    if (char === '"') isQuoted = !isQuoted;
    else if (char === "\\") {
      at += 1;
      const escaped = raw[at] ?? "";
      value += { n: "\n", t: "\t", b: "\b" }[escaped] ?? escaped;
    } else if (!isQuoted && (char === "#" || char === ";")) break;
    else value += char;
  }
  return value.trim();
}

/** The path in a `.git` file, in `commondir` or in a worktree's `gitdir`. */
export function readPointer(text: string): string {
  return text.replace(/^gitdir:/u, "").trim();
}
