package cmdline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CommandAlias is the former name of a command. Former names work for one more version and are
// hidden from help.
type CommandAlias struct {
	Old, New string // full paths, such as "concerto runs answer"
}

// CommandAliases are the former names of commands of concerto and concerto-relay.
var CommandAliases = []CommandAlias{
	{"concerto answer", "concerto runs answer"},
	{"concerto resume", "concerto runs resume"},
	{"concerto fork", "concerto runs fork"},
	{"concerto inspect", "concerto runs inspect"},
	{"concerto replay", "concerto runs replay"},
	{"concerto hostd", "concerto relay hostd"},
}

// FlagAlias is the former name of a flag. Former names work for one more version and are hidden
// from help.
type FlagAlias struct {
	Command  string // full path of the command, such as "concerto run"
	Old, New string
	// Value is the value of the new flag that corresponds to an old flag without a value. It is ""
	// if the value of the old flag is passed on.
	Value string
}

// FlagAliases are the former names of flags of concerto and concerto-relay. If New is empty, the
// old flag has no effect, as it had none before.
var FlagAliases = []FlagAlias{
	{"concerto run", "relay", "share", ""},
	{"concerto runs resume", "relay", "share", ""},
	{"concerto runs answer", "json", "json-value", ""},
	{"concerto runs list", "json", "format", "json"},
	{"concerto runs show", "json", "format", "json"},
	{"concerto runs verify", "json", "format", "json"},
	{"concerto top", "json", "format", "json"},
	{"concerto audit reconcile", "json", "format", "json"},
	{"concerto budget", "json", "format", "json"},
	{"concerto version", "json", "format", "json"},
	{"concerto doctor", "json", "format", "json"},
	{"concerto add", "json", "format", "json"},
	{"concerto remove", "json", "format", "json"},
	{"concerto update", "json", "format", "json"},
	{"concerto why", "json", "format", "json"},
	{"concerto vendor", "json", "format", "json"},
	{"concerto verify", "json", "format", "json"},
	{"concerto jobs list", "json", "format", "json"},
	{"concerto jobs show", "json", "format", "json"},
	{"concerto work list", "json", "format", "json"},
	{"concerto work diff", "json", "format", "json"},
	{"concerto work merge", "json", "format", "json"},
	{"concerto merge run", "json", "format", "json"},
	{"concerto merge list", "json", "format", "json"},
	{"concerto runs tape", "json", "", ""},
	{"concerto runs stop", "json", "", ""},
	{"concerto runs rm", "json", "", ""},
	{"concerto runs inspect", "json", "format", "ndjson"},
	{"concerto audit show", "json", "format", "ndjson"},
	{"concerto host list", "json", "format", "json"},
	{"concerto host test", "json", "format", "json"},
	{"concerto tools list", "json", "format", "json"},
	{"concerto submit", "json", "format", "json"},
	{"concerto worker", "json", "format", "json"},
	{"concerto engine init", "json", "format", "json"},
	{"concerto engine upgrade", "json", "format", "json"},
	{"concerto engine check", "json", "format", "json"},
	{"concerto engine prune", "json", "format", "json"},
	{"concerto queue list", "json", "format", "json"},
	{"concerto schedule list", "json", "format", "json"},
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

// AddAliases adds the former names of commands and flags to a command tree. It omits those of
// commands that the tree does not contain. Execute the tree with the arguments that ResolveAlias
// returns.
func AddAliases(root *cobra.Command) {
	addFlagAliases(root)
	for _, alias := range CommandAliases {
		if !hasCommand(root, alias.New) {
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
			Run:     func(*cobra.Command, []string) {}, // cobra's Find requires a function
		})
	}
}

// ResolveAlias replaces the former name of a command in args by the current name.
func ResolveAlias(root *cobra.Command, args []string) []string {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return append(args[:1:1], ResolveAlias(root, args[1:])...)
	}
	c, rest, err := root.Find(args)
	if err != nil {
		return args // cobra will report the error
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
		if !hasCommand(root, alias.Command) {
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

// hasCommand reports whether root has the command that path names first, such as run in "concerto
// run".
func hasCommand(root *cobra.Command, path string) bool {
	words := strings.Fields(path)
	return words[0] == root.Name() && slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == words[1] })
}

// find returns the command with the given path.
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

// aliasValue is the value of a flag's former name. Setting it sets the current flag.
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

// IsAlias reports whether a flag is the former name of another flag.
func IsAlias(f *pflag.Flag) bool {
	_, ok := f.Value.(*aliasValue)
	return ok
}

// Hide hides flags from a command's help. It is for flags that exist only for tests of Concerto
// itself.
func Hide(c *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := c.Flags().MarkHidden(name); err != nil {
			panic(err) // the command has no such flag
		}
	}
}
