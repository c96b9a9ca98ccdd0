/** The completion for zsh, by its own `_arguments` and `_describe`, so that each word comes with its explanation. */
import type { CommandWords, OptionWords } from "./completion-words.ts";

export function zshScript(commands: readonly CommandWords[], globals: readonly OptionWords[]): string {
  return `#compdef sand
# zsh completion for sand; load it with: source <(sand completion zsh)
_sand() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  _arguments -C \\
${argumentLines(globals, "    ")} \\
    '1:command:->command' \\
    '*::argument:->argument'
  case $state in
    command)
      local -a names=(
${commands.map((one) => `        ${quote(`${one.name}:${one.summary}`)}`).join("\n")}
      )
      _describe command names
      ;;
    argument)
      case $words[1] in
${commands.map(commandCase).join("\n")}
      esac
      ;;
  esac
}
compdef _sand sand
`;
}

function commandCase({ name, actions, options }: CommandWords): string {
  const first =
    actions.length === 0 ? "'*:word:_files'" : `'1:action:(${actions.join(" ")})' '*:word:_files'`;
  return `        ${name})
          _arguments \\
${argumentLines(options, "            ")} \\
            ${first}
          ;;`;
}

function argumentLines(options: readonly OptionWords[], indent: string): string {
  return options
    .flatMap((option) =>
      option.names.map(
        (word) => `${indent}${quote(`${word}[${escapeAbout(option.about)}]${valuePart(option)}`)}`,
      ),
    )
    .join(" \\\n");
}

function valuePart({ takesValue, choices }: OptionWords): string {
  if (!takesValue) return "";
  return choices.length === 0 ? ":value:_files" : `:value:(${choices.join(" ")})`;
}

function escapeAbout(text: string): string {
  return text.replace(/[[\]:\\]/gu, "\\$&");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
