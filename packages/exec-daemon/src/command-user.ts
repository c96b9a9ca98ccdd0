/**
 * The account that commands and file operations run as, when it isn't the daemon's own (`SAND_BOX_COMMAND_UID`, as in
 * the image).
 *
 * The daemon holds what it needs to become that account, and what it starts must not inherit it: every privilege is
 * dropped before anything that a request names is looked at. A request's environment is therefore set by a program that
 * already runs as the account, because a variable like `LD_PRELOAD` would else load a stranger's code into one that
 * doesn't yet.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { BoxError, invariant } from "@sand/protocol";

export interface CommandUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  readonly home: string;
}

export interface RunAsUser {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

// Absolute, since nobody else's PATH may decide which program is trusted with the drop.
const programs = { setpriv: "/usr/bin/setpriv", env: "/usr/bin/env" } as const;

const dropArgs = ["--clear-groups", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"] as const;

/** The same run as that account. What comes back is safe to be started with the daemon's privileges. */
export function runAsUser(user: CommandUser, run: RunAsUser): RunAsUser {
  const variables = Object.entries(run.env).map(([name, value]) => `${name}=${value}`);
  return {
    argv: [
      ...[programs.setpriv, `--reuid=${user.uid}`, `--regid=${user.gid}`, ...dropArgs, "--"],
      ...[programs.env, "--ignore-environment", `--chdir=${run.cwd}`, ...variables, ...run.argv],
    ],
    env: {},
    cwd: "/",
  };
}

/** What `runAsUser` was given, for whoever can become the account without other programs. */
export function undoRunAsUser(user: CommandUser, run: RunAsUser): RunAsUser {
  const folderMark = "--chdir=";
  const { argv } = runAsUser(user, { argv: [], env: {}, cwd: "" });
  const rest = run.argv.slice(argv.length);
  const first = rest.findIndex((word) => !word.includes("="));
  invariant(first >= 0, "a run as another account has a program");
  const env = Object.fromEntries(rest.slice(0, first).map(splitVariable));
  return {
    argv: rest.slice(first),
    // What it starts with beside its arguments are its secrets (`processes/add-secrets.ts`).
    env: { ...run.env, ...env },
    cwd: (run.argv[argv.length - 1] ?? "").slice(folderMark.length),
  };
}

function splitVariable(word: string): readonly [string, string] {
  const at = word.indexOf("=");
  return [word.slice(0, at), word.slice(at + 1)];
}

/** Throws `config/invalid` when there is no such account, or the account would be no separation at all. */
export function readCommandUser(uid: number, passwdFile = "/etc/passwd"): CommandUser {
  const account = parsePasswd(readFileSync(passwdFile, "utf8")).find((row) => row.uid === uid);
  if (account === undefined || uid === 0) {
    throw new BoxError(
      "config/invalid",
      uid === 0 ? "commands can't be kept apart as root" : `there is no account with uid ${uid}`,
      { hint: "set SAND_BOX_COMMAND_UID to an account of this machine that isn't root" },
    );
  }
  return account;
}

/** Whether the account can come as far as this path, whatever it may do there then. */
export function canReach(user: CommandUser, path: string): boolean {
  const above = dirname(path);
  return above === path || (mayEnter(user, statSync(above)) && canReach(user, above));
}

/** As the kernel decides it: by the first of the three that fits, not by the best. */
export function mayEnter(
  user: CommandUser,
  folder: { readonly uid: number; readonly gid: number; readonly mode: number },
): boolean {
  if (folder.uid === user.uid) return (folder.mode & 0o100) !== 0;
  return (folder.mode & (folder.gid === user.gid ? 0o010 : 0o001)) !== 0;
}

/** The accounts of a passwd file; lines that aren't one are left out. */
export function parsePasswd(text: string): readonly CommandUser[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = "", gid = "", , home = ""] = line.split(":");
    const isAccount = name !== "" && /^\d+$/u.test(uid) && /^\d+$/u.test(gid) && home.startsWith("/");
    return isAccount ? [{ name, uid: Number(uid), gid: Number(gid), home }] : [];
  });
}
