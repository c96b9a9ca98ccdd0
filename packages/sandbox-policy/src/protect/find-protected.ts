/**
 * Finds what lies within the writable roots and must not be written: repositories' hooks and configuration, agents'
 * settings, the files that shells and ssh obey. The file system is asked each time that something changed; the answer
 * is kept until then, since every run needs it.
 *
 * The search is bounded. A repository deeper than that, or one that the command itself makes, isn't protected during
 * that run.
 */
import { join } from "node:path";
import type { ProtectedPath } from "../enclosed-policy.ts";
import { isBeneath } from "../path-order.ts";
import {
  agentFiles,
  agentFolders,
  editorFolders,
  homeFiles,
  homeFolders,
  unsearchedFolders,
} from "./known-names.ts";
import { createLook, type Look, signatureOf } from "./look.ts";
import { createGitFinder } from "./protect-git.ts";

export interface ProtectedFinds {
  readonly paths: readonly ProtectedPath[];
  /** git folders outside the roots that a worktree in them needs for commits */
  readonly openedRoots: readonly string[];
  /** links that stand for something protected and can be replaced: path and target as found */
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

export interface ProtectedSearch {
  /** real paths */
  readonly roots: readonly string[];
  readonly home: string;
  /** mount points of ours that stand for something that isn't there */
  readonly ignored?: ReadonlySet<string>;
  /** folders of which commands see nothing */
  readonly unsearched?: readonly string[];
}

export interface ProtectedFinder {
  find(search: ProtectedSearch): ProtectedFinds;
}

interface Known {
  readonly looked: readonly string[];
  readonly absent: readonly string[];
  readonly signature: string;
  readonly finds: ProtectedFinds;
}

const depthMax = 3;
const foldersMax = 256;
/** more would make a start slow; the rest is said to be unprotected */
const pathsMax = 600;
const cachedMax = 8;

export function createProtectedFinder(): ProtectedFinder {
  const cache = new Map<string, Known>();
  return {
    find(search) {
      const { roots, home, ignored } = search;
      const key = JSON.stringify([roots, home]);
      const known = cache.get(key);
      const isCurrent =
        known !== undefined && signatureOf(known.looked, known.absent, ignored) === known.signature;
      if (isCurrent) return known.finds;
      const look = createLook(ignored);
      const finds = findProtected(search, look);
      const looked = [...look.looked];
      if (cache.size >= cachedMax) cache.clear();
      const absent = finds.paths.filter(({ how }) => how.startsWith("absent")).map(({ path }) => path);
      cache.set(key, { looked, absent, signature: signatureOf(looked, absent, ignored), finds });
      return finds;
    },
  };
}

function findProtected({ roots, home, unsearched = [] }: ProtectedSearch, look: Look): ProtectedFinds {
  const paths = new Map<string, ProtectedPath>();
  const links = new Map<string, string>();
  const openedRoots = new Set<string>();
  const add = (path: string, how: ProtectedPath["how"], rule: string): void => {
    const isNew = !paths.has(path) && paths.size < pathsMax;
    if (isNew && path !== "/" && !roots.includes(path)) paths.set(path, { path, how, rule });
  };
  const guard = (path: string): void => {
    const target = look.kindOf(path) === "link" ? look.linkTarget(path) : undefined;
    if (target !== undefined) links.set(path, target);
  };
  const git = createGitFinder({ look, home, add, open: (path) => openedRoots.add(path) });
  for (const root of roots) {
    for (const folder of foldersBeneath(root, look, unsearched)) {
      guard(join(folder, ".git"));
      const isRepository = git.protectWorktree(folder);
      if (isBareRepository(folder, look)) git.protectGitFolder(folder, folder);
      const isComplete = folder === root;
      if (isComplete || isRepository) protectNamed(folder, { look, add, guard, isComplete });
    }
    if (isBeneath(home, root)) protectHome(home, look, add);
  }
  return {
    paths: [...paths.values()].filter(({ path }) => !isInsideAnother(path, paths)),
    openedRoots: [...openedRoots].filter((path) => !roots.some((root) => isBeneath(path, root))),
    links: [...links].map(([path, target]) => ({ path, target })),
  };
}

interface NamedDeps {
  readonly look: Look;
  readonly add: (path: string, how: ProtectedPath["how"], rule: string) => void;
  readonly guard: (path: string) => void;
  /** also what isn't there is kept from being made */
  readonly isComplete: boolean;
}

function protectNamed(folder: string, { look, add, guard, isComplete }: NamedDeps): void {
  const rule = "agents obey what is written here";
  for (const name of [...agentFolders, ...agentFiles, ...editorFolders]) {
    const path = join(folder, name);
    const kind = look.kindOf(path);
    // An empty folder in any case: git shows none, so nobody's `git status` is disturbed meanwhile.
    const isEditors = editorFolders.some((folder) => folder === name);
    if (kind === "nothing" && isComplete && !isEditors) add(path, "absent-folder", rule);
    if (kind === "file" || kind === "folder") add(path, "read-only", rule);
    if (kind !== "link") continue;
    guard(path);
    const real = look.real(path);
    if (real !== undefined) add(real, "read-only", rule);
  }
}

function protectHome(home: string, look: Look, add: NamedDeps["add"]): void {
  const rule = "shells, git or ssh obey what is written here";
  const protect = (path: string, absent: "absent-file" | "absent-folder"): void => {
    const kind = look.kindOf(path);
    const real = kind === "link" ? look.real(path) : path;
    if (kind === "nothing") add(path, absent, rule);
    else if (real !== undefined) add(real, "read-only", rule);
  };
  for (const name of homeFiles) protect(join(home, name), "absent-file");
  for (const name of homeFolders) {
    if (look.kindOf(join(home, name, "..")) === "folder") protect(join(home, name), "absent-folder");
  }
}

/** Breadth first, so that the bound cuts off what is deepest. */
function foldersBeneath(root: string, look: Look, unsearched: readonly string[]): readonly string[] {
  const found: { path: string; depth: number }[] = [{ path: root, depth: 0 }];
  for (let at = 0; at < found.length && found.length < foldersMax; at += 1) {
    const folder = found[at];
    if (folder === undefined || folder.depth >= depthMax) continue;
    for (const entry of look.list(folder.path)) {
      if (!entry.isDirectory() || unsearchedFolders.has(entry.name) || found.length >= foldersMax) continue;
      const path = join(folder.path, entry.name);
      if (!unsearched.includes(path)) found.push({ path, depth: folder.depth + 1 });
    }
  }
  return found.map(({ path }) => path);
}

function isBareRepository(folder: string, look: Look): boolean {
  const names = new Set(look.list(folder).map((entry) => entry.name));
  return ["HEAD", "objects", "refs"].every((name) => names.has(name));
}

/** A read-only folder covers all that is in it. */
function isInsideAnother(path: string, paths: ReadonlyMap<string, ProtectedPath>): boolean {
  for (
    let above = path.slice(0, path.lastIndexOf("/"));
    above !== "";
    above = above.slice(0, above.lastIndexOf("/"))
  ) {
    if (paths.get(above)?.how === "read-only") return true;
  }
  return false;
}
