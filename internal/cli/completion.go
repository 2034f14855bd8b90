package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/doc"
	"github.com/concerto-lang/concerto/internal/engine"
)

// shells write the script that makes a shell complete command lines.
var shells = []struct {
	name  string
	write func(root *cobra.Command) error
}{
	{"bash", func(r *cobra.Command) error { return r.GenBashCompletionV2(r.OutOrStdout(), true) }},
	{"zsh", func(r *cobra.Command) error { return r.GenZshCompletion(r.OutOrStdout()) }},
	{"fish", func(r *cobra.Command) error { return r.GenFishCompletion(r.OutOrStdout(), true) }},
	{"powershell", func(r *cobra.Command) error { return r.GenPowerShellCompletionWithDesc(r.OutOrStdout()) }},
}

func newCompletion(a *console.Console) *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Let the shell complete command lines",
		Long: `Writes the script that makes a shell complete commands, flags, their values and
paths. SHELL is ` + strings.Join(names, ", ") + `.

  bash        concerto completion bash > ~/.local/share/bash-completion/completions/concerto
  zsh         concerto completion zsh > "${fpath[1]}/_concerto"
  fish        concerto completion fish > ~/.config/fish/completions/concerto.fish
  powershell  concerto completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("`concerto completion bash`, for one", "completion takes the name of a shell")
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

// pathArgs are the endings of the files that commands take.
var pathArgs = map[string][]string{
	"run": {"conc", "conc-ir"}, "build": {"conc"}, "check": {"conc"}, "fmt": {"conc"}, "test": {"conc"},
}

// flagValues are the flags that take one of a few words.
var flagValues = []struct {
	command, flag string
	values        func() []string
}{
	{"run", "emit", func() []string { return modeNames }},
	{"run", "format", func() []string { return statsForms }},
	{"run", "progress", func() []string { return progressForms }},
	{"build", "emit", stageNames},
	{"check", "format", func() []string { return checkForms }},
	{"init", "template", templateNames},
	{"test", "format", func() []string { return testFormats }},
	{"", "log-level", func() []string { return engine.LogLevels }},
}

// completions tells cobra what arguments and flags may be, for the shell.
func completions(a *console.Console, root *cobra.Command) {
	find := func(name string) *cobra.Command {
		for _, c := range root.Commands() {
			if c.Name() == name {
				return c
			}
		}
		return root
	}
	for name, endings := range pathArgs {
		find(name).ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return endings, cobra.ShellCompDirectiveFilterFileExt
		}
	}
	find("explain").ValidArgsFunction = func(*cobra.Command, []string, string) (codes []string, _ cobra.ShellCompDirective) {
		for _, i := range diag.Catalogue() {
			codes = append(codes, i.Code+"\t"+i.Title)
		}
		return codes, cobra.ShellCompDirectiveNoFileComp
	}
	find("doc").ValidArgsFunction = func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		for _, g := range doc.Groups() {
			for _, t := range g.Topics {
				names = append(names, t.Name+"\t"+t.Summary())
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range []*cobra.Command{find("run"), find("test")} {
		completePermissions(a, c)
	}
	for _, f := range flagValues {
		err := find(f.command).RegisterFlagCompletionFunc(f.flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return f.values(), cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic(err) // a flag that is not there
		}
	}
}

// completePermissions completes the values of the permission flags: paths as the
// shell does, and names of variables.
func completePermissions(a *console.Console, c *cobra.Command) {
	for _, k := range engine.Permissions {
		if k.Kind == engine.PermitRead || k.Kind == engine.PermitWrite {
			continue
		}
		err := c.RegisterFlagCompletionFunc(k.Flag, func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			if k.Kind == engine.PermitEnv {
				for _, v := range a.Environ {
					name, _, _ := strings.Cut(v, "=")
					names = append(names, name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic(err)
		}
	}
}
