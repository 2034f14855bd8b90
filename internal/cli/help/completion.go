package help

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// shells lists the supported shells and the functions that write their completion scripts.
var shells = []struct {
	name  string
	write func(root *cobra.Command) error
}{
	{"bash", func(r *cobra.Command) error { return r.GenBashCompletionV2(r.OutOrStdout(), true) }},
	{"zsh", func(r *cobra.Command) error { return r.GenZshCompletion(r.OutOrStdout()) }},
	{"fish", func(r *cobra.Command) error { return r.GenFishCompletion(r.OutOrStdout(), true) }},
	{"powershell", func(r *cobra.Command) error { return r.GenPowerShellCompletionWithDesc(r.OutOrStdout()) }},
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
