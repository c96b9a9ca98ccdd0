/**
 * What of a repository a command must not write: where git finds code that it runs later, for the user and outside any
 * sandbox. Hooks and configuration; those of submodules and worktrees; and the pointers by which a repository says
 * where they are. Objects, refs and the index stay writable, or nobody could commit.
 *
 * A link can't be covered by a mount, so where the hooks are one, the whole git folder is for reading. Better no commit
 * there than a link that is bent.
 */
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { ProtectedPath } from "../enclosed-policy.ts";
import { readGitConfig, readPointer } from "./git-config.ts";
import type { Look } from "./look.ts";

const includeDepthMax = 4;
const modulesDepthMax = 4;
const entriesMax = 64;
const rule = "git runs what is configured here";

export interface GitFinder {
  /** A git folder; relative hook folders are looked for in its worktree. */
  protectGitFolder(folder: string, worktree: string): void;
  /** A `.git` of any kind in a folder. True when there is one. */
  protectWorktree(folder: string): boolean;
}

export interface GitFinderDeps {
  readonly look: Look;
  readonly home: string;
  readonly add: (path: string, how: ProtectedPath["how"], rule: string) => void;
  /** the shared git folder of a worktree, which has to be writable for a commit */
  readonly open: (path: string) => void;
}

export function createGitFinder({ look, home, add, open }: GitFinderDeps): GitFinder {
  const done = new Set<string>();

  function close(path: string, whenMissing?: "absent-folder" | "absent-file"): void {
    const kind = look.kindOf(path);
    if (kind === "nothing") {
      if (whenMissing !== undefined) add(path, whenMissing, rule);
      return;
    }
    const real = look.real(path);
    // The link itself is made safe by whoever closes the folder around it.
    if (kind === "link" && real !== undefined) add(real, "read-only", rule);
    if (kind !== "link") add(path, "read-only", rule);
  }

  function protectConfig(path: string, base: string, depth: number): void {
    close(path);
    const facts = readGitConfig(look.read(path) ?? "");
    for (const asked of facts.hooksPaths) close(expand(asked, facts.worktree ?? base), "absent-folder");
    if (depth >= includeDepthMax) return;
    for (const asked of facts.includes.slice(0, entriesMax)) {
      const included = expand(asked, dirname(path));
      close(included, "absent-file");
      protectConfig(included, base, depth + 1);
    }
  }

  const expand = (asked: string, base: string): string =>
    asked.startsWith("~/") ? join(home || homedir(), asked.slice(2)) : resolve(base, asked);

  function protectGitFolder(folder: string, worktree: string): void {
    if (done.has(folder)) return;
    done.add(folder);
    if (look.kindOf(join(folder, "hooks")) === "link")
      add(folder, "read-only", `${rule}, and its hooks are a link`);
    close(join(folder, "hooks"), "absent-folder");
    const config = join(folder, "config");
    const own = readGitConfig(look.read(config) ?? "").worktree;
    const base = own === undefined ? worktree : resolve(folder, own);
    protectConfig(config, base, 0);
    protectConfig(join(folder, "config.worktree"), base, 0);
    for (const pointer of ["commondir", "gitdir"]) close(join(folder, pointer));
    for (const entry of foldersIn(join(folder, "worktrees"))) protectLinked(join(folder, "worktrees", entry));
    protectModules(join(folder, "modules"), 0);
  }

  /** A worktree's own folder inside the shared one: it has no hooks, only pointers. */
  function protectLinked(folder: string): void {
    for (const pointer of ["commondir", "gitdir"]) close(join(folder, pointer));
    protectConfig(join(folder, "config.worktree"), folder, 0);
    protectModules(join(folder, "modules"), 0);
  }

  function protectModules(folder: string, depth: number): void {
    if (depth >= modulesDepthMax) return;
    for (const entry of foldersIn(folder)) {
      const inner = join(folder, entry);
      if (look.kindOf(join(inner, "HEAD")) === "file") protectGitFolder(inner, inner);
      else protectModules(inner, depth + 1);
    }
  }

  const foldersIn = (folder: string): readonly string[] =>
    look
      .list(folder)
      .filter((entry) => entry.isDirectory())
      .slice(0, entriesMax)
      .map((entry) => entry.name);

  function protectPointed(folder: string, pointerFile: string): void {
    const gitFolder = look.real(resolve(folder, readPointer(look.read(pointerFile) ?? "")));
    if (gitFolder === undefined) return;
    const pointer = look.read(join(gitFolder, "commondir"));
    if (pointer === undefined) {
      protectGitFolder(gitFolder, folder);
      return;
    }
    const common = look.real(resolve(gitFolder, readPointer(pointer)));
    if (common === undefined) return;
    protectGitFolder(common, dirname(common));
    // A relative folder of hooks is another one in each worktree.
    protectConfig(join(common, "config"), folder, 0);
    protectLinked(gitFolder);
    // Only what points back is believed: a command may write a `.git` file, and not into somebody else's repository.
    const back = readPointer(look.read(join(gitFolder, "gitdir")) ?? "");
    if (look.real(resolve(gitFolder, back)) === pointerFile && gitFolder.startsWith(`${common}/worktrees/`))
      open(common);
  }

  return {
    protectGitFolder,
    protectWorktree(folder) {
      const path = join(folder, ".git");
      switch (look.kindOf(path)) {
        case "nothing":
          return false;
        case "folder":
          protectGitFolder(path, folder);
          return true;
        case "link": {
          const real = look.real(path);
          if (real !== undefined && look.kindOf(real) === "folder") protectGitFolder(real, folder);
          else if (real !== undefined) protectPointed(folder, real);
          return true;
        }
        case "file":
          add(path, "read-only", rule);
          protectPointed(folder, path);
          return true;
      }
    },
  };
}
