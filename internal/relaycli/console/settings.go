package console

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/internal/text/tomlkeys"
)

// variable is the annotation of a flag that contains the name of its environment variable.
const variable = "concerto-relay/variable"

// FromEnv names the environment variable that sets a flag which the command line does not set.
func FromEnv(f *pflag.FlagSet, flag, name string) {
	if err := f.SetAnnotation(flag, variable, []string{name}); err != nil {
		panic(err) // the flag is not defined
	}
	f.Lookup(flag).Usage += " ($" + name + ")"
}

// table is the annotation of a flag that contains the name of another table of relay.toml.
const table = "concerto-relay/table"

// FromTable names the table of relay.toml that sets a flag which the table of its command does not.
func FromTable(f *pflag.FlagSet, flag, name string) {
	if err := f.SetAnnotation(flag, table, []string{name}); err != nil {
		panic(err) // the flag is not defined
	}
}

// tableOf maps top-level commands to the command whose table of relay.toml they use. It does not
// apply to their subcommands.
var tableOf = map[string]string{"doctor": "hostd", "pair": "hostd"}

// Settings sets the flags of c that the command line does not set: from the environment, or else
// from relay.toml. It records the source of each value.
func (a *Console) Settings(c *cobra.Command) (err error) {
	if a.file, a.tables, err = a.settingsFile(c.Root()); err != nil {
		return err
	}
	a.Places = map[string]string{}
	top := c
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	name := top.Name()
	if of := tableOf[name]; of != "" && c == top {
		name = of
	}
	return a.SetFlags(c.Flags(), name, c.CommandPath())
}

// SetFlags sets the flags that the command line does not set: from the environment, or else from a
// table of relay.toml.
func (a *Console) SetFlags(flags *pflag.FlagSet, from, command string) (failed error) {
	flags.VisitAll(func(f *pflag.Flag) {
		from := from
		if other := f.Annotations[table]; len(other) > 0 && a.tables[from][f.Name] == nil {
			from = other[0]
		}
		keys := a.tables[from]
		place, value := "--"+f.Name, ""
		switch name := f.Annotations[variable]; {
		case failed != nil || f.Changed:
		case len(name) > 0 && a.Env(name[0]) != "":
			place, value = "$"+name[0], a.Env(name[0])
		case keys[f.Name] != nil:
			place, value = a.file+": "+from+"."+f.Name, flagValue(keys[f.Name])
		}
		a.Places[f.Name] = place
		if value == "" || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = Usage("`"+command+" --help` lists its values", "%s: invalid value %q: %v", place, value, errors.Unwrap(err))
		}
	})
	return failed
}

// SourceOf returns the source of a setting for messages: a flag, an environment variable or a key
// of relay.toml.
func (a *Console) SourceOf(flag string) string { return a.Places[flag] }

// InvalidSetting returns the error for the invalid value of a flag. It names the source of the
// value; hint may be "".
func (a *Console) InvalidSetting(flag, hint, format string, args ...any) error {
	return Usage(hint, "%s: %s", a.SourceOf(flag), fmt.Sprintf(format, args...))
}

// OneOf returns an error if the value of a flag is not in a list.
func (a *Console) OneOf(flag, v string, list ...string) error {
	if slices.Contains(list, v) {
		return nil
	}
	return a.InvalidSetting(flag, "write "+strings.Join(list[:len(list)-1], ", ")+" or "+list[len(list)-1], "invalid value %q", v)
}

// flagValue returns a value of relay.toml as the text of a flag.
func flagValue(v any) string {
	if list, ok := v.([]any); ok {
		var all []string
		for _, one := range list {
			all = append(all, fmt.Sprint(one))
		}
		return strings.Join(all, ",")
	}
	return fmt.Sprint(v)
}

// settingsFile reads relay.toml. The file has a table for each command, whose keys are the
// command's flags. A missing file is an error only if --config names it.
func (a *Console) settingsFile(root *cobra.Command) (file string, all map[string]map[string]any, err error) {
	file = filepath.Join(a.XDGDir("XDG_CONFIG_HOME", ".config"), "concerto", "relay.toml")
	if a.Config != "" {
		file = a.Abs(a.Config)
	}
	text, err := userfile.Read(file, userfile.MaxText)
	if errors.Is(err, fs.ErrNotExist) && a.Config == "" {
		return file, nil, nil
	}
	if err != nil {
		return file, nil, Usage("name a readable file", "read the settings: %v", err)
	}
	if _, err := tomlkeys.Decode(string(text), &all); err != nil {
		var at tomlkeys.ParseError
		if errors.As(err, &at) {
			return file, nil, Usage("the file has a table for each command, such as [serve], with the command's flags", "%s:%d: %s", file, at.Position.Line, at.Message)
		}
		return file, nil, Usage("the file has a table for each command, such as [serve], with the command's flags", "%s: %v", file, err)
	}
	return file, all, checkSettings(root, file, all)
}

// checkSettings returns an error for the first table that names no command, or key that names no
// flag of its command.
func checkSettings(root *cobra.Command, file string, all map[string]map[string]any) error {
	flags, names := map[string][]string{}, []string{}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
		flags[c.Name()] = flagsBelow(c)
	}
	for _, table := range slices.Sorted(maps.Keys(all)) {
		if flags[table] == nil {
			return Usage(nearest(table, names), "%s: unknown command %q", file, table)
		}
		for _, key := range slices.Sorted(maps.Keys(all[table])) {
			if !slices.Contains(flags[table], key) {
				return Usage(nearest(key, flags[table]), "%s: %s has no setting %q", file, table, key)
			}
		}
	}
	return nil
}

func flagsBelow(c *cobra.Command) []string {
	out := flagsOf(c)
	for _, sub := range c.Commands() {
		out = append(out, flagsBelow(sub)...)
	}
	return out
}

func nearest(name string, all []string) string {
	if near := suggest.Nearest(name, all); near != "" {
		return "did you mean " + near + "?"
	}
	return "`concerto-relay --help` lists the commands, and each its flags"
}
