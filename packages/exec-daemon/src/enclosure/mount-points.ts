/**
 * The empty files and folders that a mount needs where nothing is, in somebody's workspace. They are made before a run,
 * shared by runs that need the same one, and removed soon after none does any more: the next run mostly follows at once.
 *
 * 1. One that a living run needs stays: removing it would take the mount away under the run.
 * 2. They are in a journal before they are made, so that a daemon that was killed finds them at its next start.
 * 3. Only what is still empty is removed, and only what wasn't there before: anything else is somebody's own by now.
 * 4. A link that stands for something protected can't be covered by a mount. It is put back when a run bent it.
 */
import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { type CommandUser, runAsUser } from "../command-user.ts";

export interface MountPoint {
  readonly path: string;
  readonly kind: "folder" | "file";
}

export interface GuardedLink {
  readonly path: string;
  readonly target: string;
}

export interface MountPoints {
  /** those that are there because of us */
  readonly made: ReadonlySet<string>;
  /** Runs of an earlier daemon that go on; what none of them needs is removed. */
  adopt(runIds: readonly string[]): void;
  /** Makes what is missing and keeps it until the run is over. */
  hold(runId: string, points: readonly MountPoint[], links: readonly GuardedLink[]): void;
  release(runId: string): void;
  /** Removes what no run needed at this call and the one before; `isOver` is asked about every run that wasn't released. */
  sweep(isOver: (runId: string) => boolean): void;
  /** Removes what no run needs. */
  close(): void;
}

interface Journal {
  readonly points: readonly MountPoint[];
  readonly links: readonly GuardedLink[];
}

interface Held {
  readonly points: ReadonlySet<string>;
  readonly links: readonly GuardedLink[];
}

export function createMountPoints(journalFile: string, user: CommandUser | undefined): MountPoints {
  const kinds = new Map<string, MountPoint["kind"]>();
  const runs = new Map<string, Held>();
  const made = new Set<string>();
  const links = new Map<string, GuardedLink>();
  /** needed by nobody when it was looked at last */
  let idle: ReadonlySet<string> = new Set();
  const before = readJournal(journalFile);
  for (const { path, kind } of before.points) {
    kinds.set(path, kind);
    made.add(path);
  }
  for (const link of before.links) links.set(link.path, link);

  function save(): void {
    const points = [...kinds].map(([path, kind]) => ({ path, kind }));
    writeJournal(journalFile, { points, links: [...links.values()] });
  }

  function unneeded(): readonly string[] {
    const needed = new Set([...runs.values()].flatMap((held) => [...held.points]));
    return [...kinds.keys()].filter((path) => !needed.has(path));
  }

  function remove(paths: readonly string[]): void {
    // Later changes of a link are its owner's.
    const isOver = runs.size === 0 && links.size > 0;
    if (isOver) for (const link of links.values()) putBack(link, user);
    if (isOver) links.clear();
    if (paths.length === 0 && !isOver) return;
    // The deepest first: a folder is empty only then.
    for (const path of [...paths].sort((a, b) => b.length - a.length)) {
      removeEmpty({ path, kind: kinds.get(path) ?? "folder" }, user);
      kinds.delete(path);
      made.delete(path);
    }
    save();
  }

  function release(runId: string): void {
    for (const link of runs.get(runId)?.links ?? []) putBack(link, user);
    runs.delete(runId);
  }

  return {
    made,
    adopt(runIds) {
      // Which of them needs which one isn't known any more, so each needs all.
      for (const id of runIds) runs.set(id, { points: new Set(made), links: [...links.values()] });
      remove(unneeded());
    },
    hold(runId, points, guarded) {
      if (points.length === 0 && guarded.length === 0) return;
      const chain = points.flatMap((point) => [...missingFolders(point.path, made), point]);
      const fresh = chain.filter(({ path }) => !exists(path));
      const isNews =
        fresh.some(({ path }) => !made.has(path)) || guarded.some(({ path }) => !links.has(path));
      for (const { path, kind } of fresh) {
        kinds.set(path, kind);
        made.add(path);
      }
      for (const link of guarded) links.set(link.path, link);
      const needed = chain.map(({ path }) => path).filter((path) => made.has(path));
      runs.set(runId, { points: new Set(needed), links: guarded });
      if (isNews) save();
      makeEmpty(fresh, user);
    },
    release,
    sweep(isOver) {
      for (const id of [...runs.keys()].filter(isOver)) release(id);
      const now = unneeded();
      remove(now.filter((path) => idle.has(path)));
      idle = new Set(now);
    },
    close() {
      remove(unneeded());
    },
  };
}

/** The folders above that aren't there either, the outermost first. */
function missingFolders(path: string, made: ReadonlySet<string>): readonly MountPoint[] {
  const above = dirname(path);
  const isThere = above === path || (exists(above) && !made.has(above));
  return isThere ? [] : [...missingFolders(above, made), { path: above, kind: "folder" }];
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function makeEmpty(points: readonly MountPoint[], user: CommandUser | undefined): void {
  if (points.length === 0) return;
  if (user !== undefined) {
    const folders = points.filter(({ kind }) => kind === "folder").map(({ path }) => path);
    const files = points.filter(({ kind }) => kind === "file").map(({ path }) => path);
    if (folders.length > 0) runQuietly(user, ["/bin/mkdir", "--", ...folders]);
    if (files.length > 0) runQuietly(user, ["/bin/touch", "--", ...files]);
    return;
  }
  for (const { path, kind } of points) {
    attempt(() => (kind === "folder" ? mkdirSync(path) : writeFileSync(path, "", { flag: "wx" })));
  }
}

function removeEmpty({ path, kind }: MountPoint, user: CommandUser | undefined): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || (kind === "file" ? !stat.isFile() || stat.size > 0 : !stat.isDirectory())) return;
  if (user !== undefined) runQuietly(user, [kind === "folder" ? "/bin/rmdir" : "/bin/rm", "--", path]);
  else attempt(() => (kind === "folder" ? rmdirSync(path) : rmSync(path)));
}

/** What stands in the link's place now is kept beside it, for somebody to look at. */
function putBack({ path, target }: GuardedLink, user: CommandUser | undefined): void {
  attempt(() => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink() === true && readlinkSync(path) === target) return;
    const aside = `${path}.replaced-by-a-command-${Date.now()}`;
    if (user !== undefined) {
      if (stat !== undefined) runQuietly(user, ["/bin/mv", "--no-target-directory", "--", path, aside]);
      runQuietly(user, ["/bin/ln", "-s", "--no-target-directory", "--", target, path]);
      return;
    }
    if (stat !== undefined) renameSync(path, aside);
    symlinkSync(target, path);
  });
}

/** A mount point that can't be made shows itself when the run starts; one that can't be removed isn't ours any more. */
function attempt(effect: () => void): void {
  try {
    effect();
  } catch {
    // See above.
  }
}

function runQuietly(user: CommandUser, argv: readonly string[]): void {
  const { argv: whole, cwd } = runAsUser(user, { argv, env: {}, cwd: "/" });
  const [program = "", ...args] = whole;
  attempt(() => execFileSync(program, args, { cwd, env: {}, stdio: "ignore", timeout: 10_000 }));
}

function readJournal(file: string): Journal {
  try {
    // Written whole, by ourselves.
    return JSON.parse(readFileSync(file, "utf8")) as Journal;
  } catch {
    return { points: [], links: [] };
  }
}

/** Whole or not at all for whoever comes after a kill; a power cut may lose it, and then leaves empty folders. */
function writeJournal(file: string, journal: Journal): void {
  const temporary = `${file}.tmp`;
  writeFileSync(temporary, JSON.stringify(journal), { mode: 0o600 });
  renameSync(temporary, file);
}
