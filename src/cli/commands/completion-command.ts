import type { Command } from "commander";
import { COMPLETE, type SHELLS } from "../declarations.js";
import { type CommandContext, writeOut } from "../output.js";

/** Defines the command `completion`, which prints the completion script of a shell. */
export function addCompletion(command: Command, context: CommandContext): void {
  command.action((shell: (typeof SHELLS)[number]) => writeOut(context, SCRIPTS[shell]));
}

/**
 * The completion scripts. Each asks the command for completions, with all words up to the cursor, and shows the lines that
 * it prints: a value and, after a tab, its description. The last line says whether paths fit too.
 */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  // Bash splits words at "=" and ":". The script joins them again, and replies with the part after the last of them.
  bash: `# tradewire: completion for bash 4.4 and later
_tradewire() {
  local line="\${COMP_LINE:0:COMP_POINT}" cur answer last value
  local -a words lines
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  cur="\${words[-1]}"
  answer="$("\${words[0]}" ${COMPLETE} "\${words[@]:1}" 2> /dev/null)" || return
  mapfile -t lines <<< "$answer"
  last="\${lines[-1]}"
  unset 'lines[-1]'
  COMPREPLY=()
  local before=""
  [[ "$cur" == *[=:]* ]] && before="\${cur%"\${cur##*[=:]}"}"
  for value in "\${lines[@]}"; do
    value="\${value%%$'\\t'*}"
    COMPREPLY+=("\${value#"$before"}")
  done
  if [[ "$last" == ":files" ]]; then
    compopt -o filenames
    mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "\${cur#"$before"}")
  elif [[ "\${COMPREPLY[0]-}" == *[=:/] ]]; then
    compopt -o nospace
  fi
}
complete -F _tradewire tradewire
`,
  zsh: `#compdef tradewire
# tradewire: completion for zsh
_tradewire() {
  local answer last line
  local -a lines described opened
  answer="$("\${words[1]}" ${COMPLETE} "\${(@Q)words[2,CURRENT]}" 2> /dev/null)" || return 1
  lines=("\${(@f)answer}")
  last="\${lines[-1]}"
  for line in "\${(@)lines[1,-2]}"; do
    local value="\${line%%$'\\t'*}" about=""
    [[ "$line" == *$'\\t'* ]] && about="\${line#*$'\\t'}"
    line="\${value//:/\\\\:}\${about:+:$about}"
    if [[ "$value" == *[=:/] ]]; then
      opened+=("$line")
    else
      described+=("$line")
    fi
  done
  (( \${#described} )) && _describe -t values tradewire described
  (( \${#opened} )) && _describe -t values tradewire opened -S ''
  if [[ "$last" == ":files" ]]; then
    [[ "$PREFIX" == *=* ]] && compset -P '*='
    _files
  fi
}
if [[ "\${funcstack[1]}" == _tradewire ]]; then
  _tradewire "$@"
else
  compdef _tradewire tradewire
fi
`,
  fish: `# tradewire: completion for fish
function __tradewire_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] ${COMPLETE} $words[2..-1] 2> /dev/null)
  or return
  if test "$lines[-1]" = ":files"
    set -l word (commandline -ct)
    set -l before (string match -r -- '^.*=' $word)
    for file in (__fish_complete_path (string replace -r -- '^.*=' '' $word))
      echo "$before$file"
    end
  end
  printf '%s\\n' $lines[1..-2]
end
complete -c tradewire -f -a '(__tradewire_complete)'
`,
};
