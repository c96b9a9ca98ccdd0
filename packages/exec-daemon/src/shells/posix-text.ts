/** What bash and zsh say in the same words, so that the two programs for sessions can't drift apart in it. */
import type { LoadPlan, StateDescriptors } from "./shell-program.ts";
import { quoteWord } from "./shell-state.ts";

/**
 * What the shell of one command does first, on one line: so that what the command says of its own lines is right, and so
 * that no alias is known when it is read. The command is its first argument.
 */
export function commandStub({ load }: StateDescriptors): string {
  return [
    `IFS= builtin read -r -d "" -u ${load} __sand_load`,
    `builtin exec ${load}<&-`,
    "__sand_command=$1",
    "builtin shift",
    'builtin eval "$__sand_load"',
    'builtin eval "$__sand_command"',
    '{ __sand_finish "$?" "$@"; } 2>/dev/null',
  ].join("; ");
}

/** The programs that save the state, or that don't, and where they save it to. */
export function saveLines(
  { saves, descriptors: { save } }: LoadPlan,
  programs: { readonly save: string; readonly noSave: string },
): readonly string[] {
  return saves ? [programs.save, `builtin exec {__sand_fd}>&${save} ${save}>&-`] : [programs.noSave];
}

/** For a shell that ends before its text is through. */
export function saveAtExit({ saves }: LoadPlan): readonly string[] {
  return saves ? [`builtin trap '{ [[ -n \${__sand_saved-} ]] || __sand_save "$@"; } 2>/dev/null' EXIT`] : [];
}

export function changeFolder(cwd: string | undefined): readonly string[] {
  if (cwd === undefined) return [];
  const gone = "sand: the folder of this session is gone: %s\\n";
  const word = quoteWord(cwd);
  return [`builtin cd -- ${word} 2>/dev/null || builtin printf ${quoteWord(gone)} ${word} >&2`];
}
