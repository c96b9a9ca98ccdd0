/**
 * zsh for sessions, by the same rules as bash (`bash-program.ts`). A function's content is given back to the shell's own
 * table of functions, which needs no parsing of what it prints.
 */
import { changeFolder, commandStub, saveAtExit, saveLines } from "./posix-text.ts";
import type { LoadPlan, ShellProgram, StateDescriptors } from "./shell-program.ts";
import { keepOptions, quoteWord, type StateRecord, stateMagic } from "./shell-state.ts";

const droppedOptions = [
  ...[
    "exec",
    "singlecommand",
    "interactive",
    "monitor",
    "zle",
    "shinstdin",
    "login",
    "privileged",
    "restricted",
  ],
  ...["histexpand", "banghist", "emacs", "vi", "promptsp", "promptcr", "rcs", "globalrcs"],
];
/** of the variables that the shell treats in a special way, those that are a session's to set */
const specialKept = "PATH|FPATH|CDPATH|MANPATH|HOME|LANG|LC_*|TERM|IFS|WORDCHARS|OLDPWD";
const processVariables =
  "_|__sand_*|PWD|SHLVL|OPTARG|OPTIND|argv|status|pipestatus|ARGC|HOST|LINENO|RANDOM|SECONDS|REPLY";
/** what a new shell sets by itself, so that it has to go when the session has unset it */
const ownVariables = ["OLDPWD", "PATH", "IFS"];

const saveProgram = `__sand_save() {
builtin local __sand_options="\${(j: :)\${(@kv)options}}"
builtin emulate -L zsh
builtin unsetopt xtrace verbose
builtin local __sand_name __sand_value
{
builtin printf '${stateMagic}\\0options\\0\\0'
for __sand_name __sand_value in \${=__sand_options}; do
[[ $__sand_value == on ]] && builtin print -r -- "setopt $__sand_name" || builtin print -r -- "unsetopt $__sand_name"
done
builtin printf '\\0cwd\\0\\0'
builtin pwd
builtin printf '\\0umask\\0\\0umask '
builtin umask
builtin printf '\\0arguments\\0\\0'
(($# > 0)) && builtin print -rn -- " \${(j: :)\${(@q)@}}"
builtin printf '\\0alias\\0\\0'
builtin alias -L
builtin alias -Ls
for __sand_name in \${(k)functions}; do
[[ $__sand_name == __sand_* ]] && builtin continue
builtin printf '\\0function\\0%s\\0' "$__sand_name"
builtin print -rn -- "\${functions[$__sand_name]}"
done
for __sand_name in \${(k)parameters}; do
case $__sand_name in (${processVariables}) builtin continue;; esac
case \${parameters[$__sand_name]} in
(*local*|*hide*) builtin continue;;
(*special*) case $__sand_name in (${specialKept});; (*) builtin continue;; esac;;
esac
[[ $__sand_name == [A-Za-z_]* ]] || builtin continue
builtin printf '\\0variable\\0%s\\0' "$__sand_name"
builtin typeset -p -- "$__sand_name"
done
builtin printf '\\0end\\0\\0\\0'
} >&$__sand_fd
}
__sand_finish() { ( __sand_save "\${@[2,-1]}" ); builtin typeset -g __sand_saved=1; builtin return $1; }
`;

const noSaveProgram = `__sand_finish() { builtin return $1; }
`;

function argv(
  path: string,
  command: string,
  descriptors: StateDescriptors,
  isLogin: boolean,
): readonly string[] {
  const stub = commandStub(descriptors);
  return [path, ...(isLogin ? ["--login"] : ["-f"]), "-c", stub, "zsh", command];
}

function loadText(plan: LoadPlan): string {
  const { records, cwd, unset, keepErrexit } = plan;
  const of = (kind: StateRecord["kind"]) => records.filter((record) => record.kind === kind);
  const dropped = new Set([...droppedOptions, ...(keepErrexit ? [] : ["errexit", "errreturn"])]);
  const variables = of("variable").filter(isVariable);
  const own = records.length === 0 ? [] : ownVariables;
  const gone = [...new Set([...unset, ...own])].filter((name) => !variables.some((row) => row.name === name));
  const lines = [
    ...saveLines(plan, { save: saveProgram, noSave: noSaveProgram }),
    "builtin zmodload zsh/parameter",
    // One that is there already may be of another type.
    ...(gone.length === 0 ? [] : [`builtin unset ${gone.join(" ")}`]),
    ...variables.map(({ code }) => code),
    ...changeFolder(cwd),
    ...variables.filter(({ name }) => name === "OLDPWD").map(({ code }) => code),
    ...of("umask").map(({ code }) => `builtin ${code}`),
    ...of("arguments").map(({ code }) => `builtin set --${code}`),
    // A key takes no quotes, so it comes out of a variable.
    ...of("function").flatMap(({ name, code }) => [
      `__sand_key=${quoteWord(name)}`,
      `functions[$__sand_key]=${quoteWord(code)}`,
    ]),
    ...saveAtExit(plan),
    "builtin unset __sand_load",
    ...of("alias").map(({ code }) => code),
    ...of("options").map(({ code }) => toOptions(code, dropped)),
  ];
  return `${lines.join("\n")}\n`;
}

/** All in one call each, because one of them can change how the next line is read. */
function toOptions(listing: string, dropped: ReadonlySet<string>): string {
  const lines = keepOptions(listing, dropped);
  const named = (word: string) =>
    lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
  return `builtin unsetopt ${named("unsetopt").join(" ")}; builtin setopt ${named("setopt").join(" ")}`;
}

function isVariable({ name, code }: StateRecord): boolean {
  const match =
    /^(?:typeset|export|readonly)(?: -[A-Za-z]+(?: \d+)?)* ([A-Za-z_][A-Za-z0-9_]*)(?:[= ]|\n?$)/u.exec(code);
  return match?.[1] === name;
}

export const zshProgram: ShellProgram = {
  paths: ["/bin/zsh", "/usr/bin/zsh"],
  argv,
  loadText,
  loginFiles: ["/etc/zsh/zshenv", "/etc/zsh/zprofile", ".zshenv", ".zprofile", ".zlogin"],
};
