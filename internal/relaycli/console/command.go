package console

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Group adds subcommands to a command that does nothing by itself.
func (a *Console) Group(c *cobra.Command, all ...*cobra.Command) *cobra.Command {
	c.Args = a.UnknownCommand
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(all...)
	return c
}

// UnknownCommand returns an error if args is not empty: its first element is no subcommand of c.
func (a *Console) UnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	hint := "`" + c.CommandPath() + " --help` lists the commands"
	if near := suggest.Nearest(args[0], names); near != "" {
		hint = "did you mean `" + c.CommandPath() + " " + near + "`?"
	}
	return Usage(hint, "unknown command %q", args[0])
}

// ArgsBetween accepts between least and most arguments. Its error shows what the command takes, and
// an example.
func ArgsBetween(least, most int, example string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			what := strings.TrimSpace(c.Use[len(c.Name()):])
			if what == "" {
				what = "no arguments"
			}
			return Usage("for example `"+example+"`", "%s takes %s", c.CommandPath(), what)
		}
		return nil
	}
}

// FlagError converts an error of the flag parser into a usageError, which suggests the most similar
// flag.
func FlagError(c *cobra.Command, err error) error {
	if choice, ok := errors.AsType[*cmdline.ChoiceError](err); ok {
		return Usage(choice.Hint(), "%v", choice)
	}
	hint := "`" + c.CommandPath() + " --help` lists the flags"
	var none *pflag.NotExistError
	if errors.As(err, &none) {
		names := slices.DeleteFunc(flagsOf(c), func(name string) bool { f := c.Flag(name); return f != nil && cmdline.IsAlias(f) })
		if near := suggest.Nearest(none.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
		return Usage(hint, "unknown flag --%s", none.GetSpecifiedName())
	}
	return Usage(hint, "%v", err)
}

// flagsOf returns the names of all flags that a command defines.
func flagsOf(c *cobra.Command) (names []string) {
	add := func(f *pflag.Flag) {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	c.Flags().VisitAll(add)
	c.PersistentFlags().VisitAll(add) // flags that the subcommands of c accept too
	return names
}
