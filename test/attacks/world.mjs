/**
 * The places that attacks are made on: repositories of every shape, a home, and a folder outside. They are made once
 * as a template and laid out afresh before each attack, so that an attack that succeeds spoils nothing for the next.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** @typedef {{base: string, workspace: string, home: string, owner: string | null}} Places */

const parts = ["workspace", "outside", "main", "home"];

/** @param {Places} places */
export function openWorld(places) {
  const at = {
    workspace: places.workspace,
    home: places.home,
    outside: join(places.base, "outside"),
    main: join(places.base, "main"),
  };
  const template = join(places.base, "template");
  build(at, places.base);
  for (const part of parts) copyEntries(at[part], join(template, part), namesIn(at[part], part));
  if (places.owner !== null) {
    const laidOut = parts.flatMap((part) => namesIn(at[part], part).map((name) => join(at[part], name)));
    own(places.owner, [template, at.outside, at.main, ...laidOut]);
  }

  return {
    ...at,
    /** Everything as it was at the beginning. */
    layOut() {
      for (const part of parts) {
        for (const name of part === "home" ? homeNames : readdirSync(at[part]))
          rmSync(join(at[part], name), { recursive: true, force: true });
        copyEntries(join(template, part), at[part], readdirSync(join(template, part)));
      }
    },
    snapshot: () => watchedPaths(at).map((path) => `${path}: ${describe(path)}`),
  };
}

const homeNames = [".bashrc", ".profile", ".zshrc", ".gitconfig", ".config"];

function git(cwd, ...args) {
  const set = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"];
  const env = {
    PATH: process.env.PATH,
    HOME: "/nonexistent",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
  execFileSync("git", [...set, "-c", "safe.directory=*", ...args], { cwd, env, stdio: "pipe" });
}

function repository(path) {
  mkdirSync(path, { recursive: true });
  git(path, "init", "--quiet");
  git(path, "config", "user.name", "t");
  git(path, "config", "user.email", "t@example.com");
  git(path, "commit", "--quiet", "--allow-empty", "--message", "first");
  mkdirSync(join(path, ".git/hooks"), { recursive: true });
}

function build(at, base) {
  for (const part of parts) mkdirSync(at[part], { recursive: true });
  const inside = (...names) => join(at.workspace, ...names);
  repository(inside("plain"));
  repository(inside("bare-of-hooks"));
  rmSync(inside("bare-of-hooks/.git/hooks"), { recursive: true });
  repository(inside("moved"));
  mkdirSync(inside("moved/tools/hooks"), { recursive: true });
  git(inside("moved"), "config", "core.hooksPath", "tools/hooks");
  git(inside("moved"), "config", "include.path", "../shared.cfg");
  writeFileSync(inside("moved/shared.cfg"), "[alias]\n\tx = status\n");
  repository(inside("linked"));
  rmSync(inside("linked/.git/hooks"), { recursive: true });
  mkdirSync(inside("linked/my-hooks"));
  symlinkSync("../my-hooks", inside("linked/.git/hooks"));
  repository(inside("real"));
  mkdirSync(inside("pointed"));
  symlinkSync("../real/.git", inside("pointed/.git"));
  repository(at.main);
  git(at.main, "worktree", "add", "--quiet", inside("tree"));
  const library = join(base, "library");
  repository(library);
  repository(inside("super"));
  git(inside("super"), "submodule", "--quiet", "add", library, "vendor/lib");
  mkdirSync(inside(".claude"));
  writeFileSync(inside(".claude/settings.json"), "{}");
  mkdirSync(inside("kept"));
  writeFileSync(inside("kept/file"), "kept");
  mkdirSync(join(at.outside, "folder"));
  writeFileSync(join(at.outside, "victim"), "untouched");
  writeFileSync(join(at.home, ".bashrc"), "# start\n");
}

function watchedPaths(at) {
  const inside = (...names) => names.map((name) => join(at.workspace, name));
  return [
    at.outside,
    ...inside("plain/.git/hooks", "plain/.git/config", "bare-of-hooks/.git/hooks"),
    ...inside("moved/.git/config", "moved/tools/hooks", "moved/shared.cfg"),
    ...inside("linked/.git/hooks", "linked/.git/config", "linked/my-hooks"),
    ...inside("real/.git/hooks", "real/.git/config", "pointed/.git"),
    ...inside("tree/.git", "super/vendor/lib/.git"),
    ...inside("super/.git/modules/vendor/lib/hooks", "super/.git/modules/vendor/lib/config"),
    ...inside(".claude", ".codex", ".mcp.json", ".sand", "kept"),
    ...["hooks", "config", "worktrees/tree/commondir", "worktrees/tree/gitdir"].map((name) =>
      join(at.main, ".git", name),
    ),
    ...[".bashrc", ".profile", ".zshrc", ".gitconfig"].map((name) => join(at.home, name)),
  ];
}

/** An empty folder or file counts as nothing: that is what a mount point looks like while a run needs it. */
function describe(path) {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "nothing";
  if (stat.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  if (stat.isDirectory()) {
    const names = readdirSync(path).sort();
    return names.map((name) => `${name}=(${describe(join(path, name))})`).join(",") || "nothing";
  }
  if (stat.size === 0) return "nothing";
  const digest = createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 12);
  return `${stat.mode.toString(8)} ${stat.nlink} ${digest}`;
}

/** A home holds more than the world's, which stays as it is. */
function namesIn(folder, part) {
  return readdirSync(folder).filter((name) => part !== "home" || homeNames.includes(name));
}

function copyEntries(from, to, names) {
  mkdirSync(to, { recursive: true });
  if (names.length > 0) execFileSync("cp", ["-a", "--", ...names.map((name) => join(from, name)), to]);
}

function own(owner, paths) {
  execFileSync("chown", ["-R", "--no-dereference", owner, "--", ...paths]);
}
