package cmdline

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CommandAlias is the former name of a command. It remains for one version, hidden from help.
type CommandAlias struct {
	Old, New string // paths, such as "concerto runs answer"
}

// CommandAliases are the former names of the commands of both programs.
var CommandAliases = []CommandAlias{
	{"concerto answer", "concerto runs answer"},
	{"concerto resume", "concerto runs resume"},
	{"concerto fork", "concerto runs fork"},
	{"concerto inspect", "concerto runs inspect"},
	{"concerto replay", "concerto runs replay"},
	{"concerto hostd", "concerto relay hostd"},
}

// FlagAlias is the former name of a flag. It remains for one version, hidden from help.
type FlagAlias struct {
	Command  string // the command's path
	Old, New string
	// Value is the value that the old flag, a switch, sets in the new one; "" if the old flag
	// passes its own value on.
	Value string
}

// FlagAliases are the former names of the flags of both programs. An empty New is a flag that had
// no effect and still has none.
var FlagAliases = []FlagAlias{
	{"concerto run", "relay", "share", ""},
	{"concerto runs resume", "relay", "share", ""},
	{"concerto runs answer", "json", "json-value", ""},
	{"concerto runs list", "json", "format", "json"},
	{"concerto runs show", "json", "format", "json"},
	{"concerto runs verify", "json", "format", "json"},
	{"concerto runs tape", "json", "", ""},
	{"concerto runs stop", "json", "", ""},
	{"concerto runs rm", "json", "", ""},
	{"concerto runs inspect", "json", "format", "ndjson"},
	{"concerto audit show", "json", "format", "ndjson"},
	{"concerto host list", "json", "format", "json"},
	{"concerto host test", "json", "format", "json"},
	{"concerto tools list", "json", "format", "json"},
	{"concerto-relay run", "json", "format", "ndjson"},
	{"concerto-relay runs", "json", "format", "ndjson"},
	{"concerto-relay attach", "json", "format", "ndjson"},
	{"concerto-relay approve", "json", "format", "ndjson"},
	{"concerto-relay deny", "json", "format", "ndjson"},
	{"concerto-relay doctor", "json", "format", "ndjson"},
	{"concerto-relay pair", "json", "format", "ndjson"},
	{"concerto-relay pair confirm", "json", "format", "json"},
	{"concerto-relay token create", "json", "format", "json"},
	{"concerto-relay token list", "json", "format", "ndjson"},
	{"concerto-relay user list", "json", "format", "ndjson"},
}

// AddAliases adds the former names of commands and flags to a program's tree of commands. Execute
// the tree with the arguments that ResolveAlias returns.
func AddAliases(root *cobra.Command) {
	addFlagAliases(root)
	for _, alias := range CommandAliases {
		if !strings.HasPrefix(alias.Old, root.Name()+" ") {
			continue
		}
		words := strings.Fields(alias.Old)
		c := find(root, alias.New)
		find(root, strings.Join(words[:len(words)-1], " ")).AddCommand(&cobra.Command{
			Use:     words[len(words)-1],
			Short:   c.Short,
			Long:    "This is the former name of `" + alias.New + "`. It will be removed in a later version.",
			Example: c.Example,
			Hidden:  true,
			Run:     func(*cobra.Command, []string) {}, // makes it a command that Find returns
		})
	}
}

// ResolveAlias returns the arguments of a program with the former name of a command replaced by its
// name.
func ResolveAlias(root *cobra.Command, args []string) []string {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return append(args[:1:1], ResolveAlias(root, args[1:])...)
	}
	c, rest, err := root.Find(args)
	if err != nil {
		return args // cobra reports it
	}
	for _, alias := range CommandAliases {
		if alias.Old == c.CommandPath() {
			return append(strings.Fields(alias.New)[1:], rest...)
		}
	}
	return args
}

func addFlagAliases(root *cobra.Command) {
	for _, alias := range FlagAliases {
		if !strings.HasPrefix(alias.Command, root.Name()+" ") {
			continue
		}
		flags := find(root, alias.Command).Flags()
		f := flags.VarPF(&aliasValue{alias, flags}, alias.Old, "", "the former name of --"+alias.New)
		f.Hidden = true
		switch of := flags.Lookup(alias.New); {
		case alias.New == "" || alias.Value != "":
			f.NoOptDefVal = "true"
		default:
			f.NoOptDefVal = of.NoOptDefVal
		}
	}
}

// find returns the command with a path.
func find(root *cobra.Command, path string) *cobra.Command {
	c := root
	for _, name := range strings.Fields(path)[1:] {
		at := c
		for _, sub := range c.Commands() {
			if sub.Name() == name {
				c = sub
			}
		}
		if c == at {
			panic("no command " + path)
		}
	}
	return c
}

// aliasValue sets the flag of which its own flag is the former name.
type aliasValue struct {
	alias FlagAlias
	flags *pflag.FlagSet
}

func (v *aliasValue) String() string { return "" }
func (v *aliasValue) Type() string {
	if v.alias.New != "" && v.alias.Value == "" {
		return v.flags.Lookup(v.alias.New).Value.Type()
	}
	return "bool"
}

func (v *aliasValue) Set(value string) error {
	if v.alias.New != "" && v.alias.Value == "" {
		return v.flags.Set(v.alias.New, value)
	}
	on, err := strconv.ParseBool(value)
	if err != nil || !on || v.alias.New == "" {
		return err
	}
	return v.flags.Set(v.alias.New, v.alias.Value)
}

// IsAlias reports whether a flag is the former name of another.
func IsAlias(f *pflag.Flag) bool {
	_, ok := f.Value.(*aliasValue)
	return ok
}

// Hide removes flags from a command's help: flags that exist for tests of Concerto itself.
func Hide(c *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := c.Flags().MarkHidden(name); err != nil {
			panic(err) // the command has no such flag
		}
	}
}
