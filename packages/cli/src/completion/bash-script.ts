/** The completion for bash: a function over word lists. It needs nothing beside bash itself. */
import type { CommandWords, OptionWords } from "./completion-words.ts";

export function bashScript(commands: readonly CommandWords[], globals: readonly OptionWords[]): string {
  const names = commands.map((command) => command.name).join(" ");
  return `# bash completion for sand; load it with: eval "$(sand completion bash)"
_sand() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="" first="" at skip=""
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ -n $skip ]]; then skip=""; continue; fi
    case "$command \${COMP_WORDS[at]}" in
${valueCases(commands, globals, "skip=1")}
      *" -"*) ;;
      " "*) command="\${COMP_WORDS[at]}" ;;
      *) first=1 ;;
    esac
  done
  case "$command $before" in
${choiceCases(commands)}
${valueCases(commands, globals, 'mapfile -t COMPREPLY < <(compgen -f -- "$word"); return')}
  esac
  local options="" actions=""
  case "$command" in
    "") options="${optionNames(globals)} --version"; actions="${names} help" ;;
    help) first=""; actions="${names}" ;;
${commands.map((one) => `    ${one.name}) options="${optionNames(one.options)}"; actions="${one.actions.join(" ")}" ;;`).join("\n")}
  esac
  if [[ $word == -* ]]; then actions="$options"
  elif [[ -n $first ]]; then actions=""
  fi
  mapfile -t COMPREPLY < <(compgen -W "$actions" -- "$word")
}
complete -o default -F _sand sand
`;
}

/** The options whose next word is their own, each with its command in front. */
function valueCases(
  commands: readonly CommandWords[],
  globals: readonly OptionWords[],
  then: string,
): string {
  const patterns = [{ name: "", options: globals }, ...commands].flatMap(({ name, options }) =>
    options
      .filter((option) => option.takesValue)
      .flatMap((option) => option.names.map((word) => `"${name} ${word}"`)),
  );
  return `      ${patterns.join("|")}) ${then} ;;`;
}

function choiceCases(commands: readonly CommandWords[]): string {
  return commands
    .flatMap(({ name, options }) =>
      options
        .filter((option) => option.choices.length > 0)
        .map((option) => {
          const patterns = option.names.map((word) => `"${name} ${word}"`).join("|");
          const reply = `mapfile -t COMPREPLY < <(compgen -W "${option.choices.join(" ")}" -- "$word"); return`;
          return `      ${patterns}) ${reply} ;;`;
        }),
    )
    .join("\n");
}

function optionNames(options: readonly OptionWords[]): string {
  return options.flatMap((option) => option.names).join(" ");
}
