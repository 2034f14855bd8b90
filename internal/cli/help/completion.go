package help

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// shells lists the supported shells and the functions that write their completion scripts.
var shells = []struct {
	name  string
	write func(root *cobra.Command) error
}{
	{"bash", writeBash},
	{"zsh", func(r *cobra.Command) error { return r.GenZshCompletion(r.OutOrStdout()) }},
	{"fish", func(r *cobra.Command) error { return r.GenFishCompletion(r.OutOrStdout(), true) }},
	{"powershell", func(r *cobra.Command) error { return r.GenPowerShellCompletionWithDesc(r.OutOrStdout()) }},
}

// readWords sets the variables of the generated script for bash without the package
// bash-completion. Words are separated by spaces only: bash also splits COMP_WORDS at `=` and `:`.
const readWords = `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line="${COMP_LINE:0:COMP_POINT}"
    read -r -a words <<<"$line"
    if [[ -z $line || $line == *[[:space:]] ]]; then
        words+=("")
    fi
    cword=$((${#words[@]} - 1))
    cur="${words[cword]}"
    prev="${words[cword > 0 ? cword - 1 : 0]}"
`

// writeBash writes the script for bash.
func writeBash(r *cobra.Command) error {
	var b strings.Builder
	if err := r.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	const generated = "    _get_comp_words_by_ref \"$@\" cur prev words cword\n"
	_, err := io.WriteString(r.OutOrStdout(), strings.Replace(b.String(), generated, readWords, 1))
	return err
}

func NewCompletion(a *console.Console) *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long:  `SHELL is one of ` + strings.Join(names, ", ") + `.`,
		Example: `  concerto completion bash > ~/.local/share/bash-completion/completions/concerto
  concerto completion zsh > "${fpath[1]}/_concerto"
  concerto completion fish > ~/.config/fish/completions/concerto.fish
  concerto completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("for example: concerto completion bash", "completion requires the name of a shell")
			}
			if err := console.OneOf("the shell", args[0], names); err != nil {
				return err
			}
			for _, s := range shells {
				if s.name == args[0] {
					return s.write(c.Root())
				}
			}
			return nil
		},
	}
}
