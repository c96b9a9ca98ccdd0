/**
 * bash for sessions. A command is a shell of its own that first reads, from a descriptor, the program below with the
 * state of the one before, and at its end writes its state to another one.
 *
 * 1. The command is read by `eval` in the shell itself, so that it changes that shell; its input is its own.
 * 2. The state is written when the text is through, and by a trap when the shell ends before that: by `exit`, by
 *    `set -e`, by a signal that can be handled. Only `exec` and SIGKILL leave nothing.
 * 3. Functions and aliases of the session may have any name, also of a builtin. Ours run by `builtin`, and aliases are
 *    made last.
 */
import { changeFolder, commandStub, saveAtExit, saveLines } from "./posix-text.ts";
import type { LoadPlan, ShellProgram, StateDescriptors } from "./shell-program.ts";
import { keepOptions, type StateRecord, stateMagic } from "./shell-state.ts";

/** variables that belong to the one process; `__sand_` is ours */
const processVariables =
  "_|__sand_*|BASH|BASHOPTS|BASHPID|BASH_[!E]*|BASH_EX*|COMP_*|COMPREPLY|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|HOSTNAME|" +
  "HOSTTYPE|LINENO|MACHTYPE|OPTARG|OPTERR|OPTIND|OSTYPE|PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID";

/** they would keep the next command from running, or mean something only to a person at a terminal */
const droppedOptions = ["onecmd", "noexec", "history", "histexpand", "monitor", "emacs", "vi", "privileged"];
const droppedShopts: ReadonlySet<string> = new Set(["login_shell", "restricted_shell"]);
/** what a new shell sets by itself, so that it has to go when the session has unset it */
const ownVariables = ["IFS", "PS4", "OLDPWD", "TERM", "PATH"];

const saveProgram = `__sand_save() {
builtin local __sand_lines __sand_line
{
builtin printf '${stateMagic}\\0shopt\\0\\0'
builtin shopt -p
builtin printf '\\0options\\0\\0'
builtin set +o
builtin set +efuvx +o posix
builtin shopt -u nocasematch
builtin printf '\\0cwd\\0\\0'
builtin pwd
builtin printf '\\0umask\\0\\0'
builtin umask -p
builtin printf '\\0arguments\\0\\0'
if (($# > 0)); then builtin printf ' %q' "$@"; fi
builtin printf '\\0alias\\0\\0'
builtin alias -p
builtin mapfile -t __sand_lines < <(builtin declare -F; builtin declare -p)
builtin printf '\\0function-flags\\0\\0'
builtin declare -F
for __sand_line in "\${__sand_lines[@]}"; do
[[ $__sand_line =~ ^declare\\ -f[a-z]*\\ (.+)$ ]] || builtin continue
case \${BASH_REMATCH[1]} in __sand_*) builtin continue;; esac
builtin printf '\\0function\\0%s\\0' "\${BASH_REMATCH[1]}"
builtin declare -f -- "\${BASH_REMATCH[1]}"
done
for __sand_line in "\${__sand_lines[@]}"; do
[[ $__sand_line =~ ^declare\\ -[-a-eg-zA-Z]+\\ ([a-zA-Z_][a-zA-Z0-9_]*)(=|$) ]] || builtin continue
case \${BASH_REMATCH[1]} in ${processVariables}) builtin continue;; esac
builtin printf '\\0variable\\0%s\\0' "\${BASH_REMATCH[1]}"
builtin declare -p -- "\${BASH_REMATCH[1]}"
done
builtin printf '\\0end\\0\\0\\0'
} >&"$__sand_fd"
}
__sand_finish() { ( __sand_save "\${@:2}" ); __sand_saved=1; builtin return "$1"; }
`;

const noSaveProgram = `__sand_finish() { builtin return "$1"; }
`;

function argv(
  path: string,
  command: string,
  descriptors: StateDescriptors,
  isLogin: boolean,
): readonly string[] {
  const stub = commandStub(descriptors);
  return [path, ...(isLogin ? ["--login"] : ["--noprofile"]), "--norc", "-c", stub, "bash", command];
}

function loadText(plan: LoadPlan): string {
  const { records, cwd, unset, keepErrexit } = plan;
  const of = (kind: StateRecord["kind"]) => records.filter((record) => record.kind === kind);
  const dropped = new Set([...droppedOptions, ...(keepErrexit ? [] : ["errexit"])]);
  // A value may hold a line that looks like another variable's, which is then told twice.
  const rows = of("variable").flatMap(readVariable);
  const variables = [...new Map(rows.map((row) => [row.name, row])).values()];
  const isNew = records.length === 0;
  const own = isNew ? [] : ownVariables.filter((name) => !variables.some((record) => record.name === name));
  const gone = [...new Set([...unset, ...own])];
  const lines = [
    ...saveLines(plan, { save: saveProgram, noSave: noSaveProgram }),
    "builtin shopt -s expand_aliases",
    ...of("shopt").flatMap(({ code }) => keepOptions(code, droppedShopts).map((line) => `builtin ${line}`)),
    ...(gone.length === 0 ? [] : [`builtin unset -v ${gone.join(" ")}`]),
    // The word must be bare for the shell to read an array behind it; no function of the session is there yet.
    ...variables.map(({ lines }) => lines),
    ...changeFolder(cwd),
    // What changing the folder has set isn't what the session had.
    "builtin unset -v OLDPWD; builtin declare -x OLDPWD",
    ...variables.filter(({ name }) => name === "OLDPWD").map(({ lines }) => lines),
    ...of("umask").map(({ code }) => `builtin ${code}`),
    ...of("arguments").map(({ code }) => `builtin set --${code}`),
    ...of("function").map(({ code }) => code),
    ...of("function-flags").flatMap(({ code }) =>
      code
        .split("\n")
        .filter(isFlagged)
        .map((line) => `builtin ${line}`),
    ),
    ...saveAtExit(plan),
    "builtin unset -v __sand_load",
    ...of("alias").map(({ code }) => code),
    ...of("options").flatMap(({ code }) => keepOptions(code, dropped).map((line) => `builtin ${line}`)),
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * Nothing for what sets another variable than the one that it is named for. The value comes before the attributes: it
 * may have been there before them, and then an integer would be computed from it, or its case changed.
 */
function readVariable({
  name,
  code,
}: StateRecord): readonly { readonly name: string; readonly lines: string }[] {
  const match = /^declare -([-A-Za-z]+) ([A-Za-z_][A-Za-z0-9_]*)(?:(=[\s\S]*)|\n?)$/u.exec(code);
  const [, flags = "", named, value] = match ?? [];
  if (named !== name) return [];
  if (value === undefined || flags === "-" || flags.includes("n")) return [{ name, lines: code }];
  const type = /[aA]/u.exec(flags)?.[0] ?? "-";
  return [{ name, lines: `declare -${type} ${name}${value}\ndeclare -${flags} ${name}` }];
}

/** Ours aren't the session's, and a function without flags needs nothing said. */
function isFlagged(line: string): boolean {
  return /^declare -f[a-z]+ (?!__sand_)\S+$/u.test(line);
}

export const bashProgram: ShellProgram = {
  paths: ["/bin/bash", "/usr/bin/bash"],
  argv,
  loadText,
  loginFiles: ["/etc/profile", "/etc/bash.bashrc", ".bash_profile", ".bash_login", ".profile", ".bashrc"],
};
