/** `keelson completion bash|zsh|fish`: what a shell needs to complete our command lines. */
import { buildCommand } from "@stricli/core";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** Each asks `keelson __complete` with the words so far, the last one unfinished, and gets one proposal a line. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `_keelson() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  mapfile -t COMPREPLY < <(keelson __complete "\${words[@]}" 2>/dev/null | cut -f1)
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _keelson keelson
`,
  zsh: `#compdef keelson
_keelson() {
  local -a found
  found=(\${(f)"$(keelson __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | sed -e 's/:/\\\\:/g' -e 's/\\t/:/')"})
  if (( \${#found} )); then _describe keelson found; else _files; fi
}
compdef _keelson keelson
`,
  fish: `function __keelson_complete
  set -l words (commandline --tokenize --cut-at-cursor --current-process)
  keelson __complete $words[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command keelson --arguments '(__keelson_complete)'
`,
};

export const completion = buildCommand<Record<never, never>, [Shell]>({
  docs: {
    brief: "Print a script that completes command lines, for bash, zsh or fish",
    fullDescription: [
      "Print a script that completes command lines in a shell. Once for all shells that you start later:",
      "  bash: echo 'source <(keelson completion bash)' >> ~/.bashrc",
      "  zsh:  echo 'source <(keelson completion zsh)' >> ~/.zshrc",
      "  fish: keelson completion fish > ~/.config/fish/completions/keelson.fish",
    ].join("\n"),
  },
  parameters: {
    flags: {},
    positional: {
      kind: "tuple",
      parameters: [{ parse: shellOf, brief: "bash, zsh or fish", placeholder: "shell" }],
    },
  },
  func(_, shell) {
    this.process.stdout.write(scripts[shell]);
  },
});

function shellOf(text: string): Shell {
  const shell = shells.find((each) => each === text);
  if (shell === undefined) throw new Error(`it must be one of ${shells.join(", ")}`);
  return shell;
}
