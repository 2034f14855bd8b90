package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// variable is the annotation of a flag with the name of its environment variable.
const variable = "concerto-relay/variable"

// fromEnv sets the environment variable that replaces a missing flag.
func fromEnv(f *pflag.FlagSet, flag, name string) {
	if err := f.SetAnnotation(flag, variable, []string{name}); err != nil {
		panic(err) // a flag that is not there
	}
	f.Lookup(flag).Usage += " ($" + name + ")"
}

// tableOf are commands whose settings are another's; what is below one has its own.
var tableOf = map[string]string{"doctor": "hostd", "pair": "hostd"}

// settings sets the flags that were not given from the environment, else from relay.toml, and
// records where each comes from.
func (a *app) settings(c *cobra.Command) (err error) {
	if a.file, a.tables, err = a.settingsFile(c.Root()); err != nil {
		return err
	}
	a.places = map[string]string{}
	top := c
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	table := top.Name()
	if of := tableOf[table]; of != "" && c == top {
		table = of
	}
	return a.fill(c.Flags(), table, c.CommandPath())
}

// fill sets flags that were not given from the environment, else from a table of relay.toml.
func (a *app) fill(flags *pflag.FlagSet, table, command string) (failed error) {
	keys := a.tables[table]
	flags.VisitAll(func(f *pflag.Flag) {
		place, value := "--"+f.Name, ""
		switch name := f.Annotations[variable]; {
		case failed != nil || f.Changed:
		case len(name) > 0 && a.env(name[0]) != "":
			place, value = "$"+name[0], a.env(name[0])
		case keys[f.Name] != nil:
			place, value = a.file+": "+table+"."+f.Name, written(keys[f.Name])
		}
		a.places[f.Name] = place
		if value == "" || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = usage("`"+command+" --help` says what it can be", "%s cannot be %q: %v", place, value, errors.Unwrap(err))
		}
	})
	return failed
}

// place returns the source of a setting, for messages.
func (a *app) place(flag string) string { return a.places[flag] }

// wrong refuses a setting.
func (a *app) wrong(flag, hint, format string, args ...any) error {
	return usage(hint, "%s: %s", a.place(flag), fmt.Sprintf(format, args...))
}

// oneOf refuses a setting that is not in its list.
func (a *app) oneOf(flag, v string, list ...string) error {
	if slices.Contains(list, v) {
		return nil
	}
	return a.wrong(flag, "write "+strings.Join(list[:len(list)-1], ", ")+" or "+list[len(list)-1], "invalid value %q", v)
}

// written is a value of the file as a flag takes it.
func written(v any) string {
	if list, ok := v.([]any); ok {
		var all []string
		for _, one := range list {
			all = append(all, fmt.Sprint(one))
		}
		return strings.Join(all, ",")
	}
	return fmt.Sprint(v)
}

// settingsFile reads relay.toml, when there is one: a table for each command, with its flags.
func (a *app) settingsFile(root *cobra.Command) (file string, all map[string]map[string]any, err error) {
	file = filepath.Join(a.under("XDG_CONFIG_HOME", ".config"), "concerto", "relay.toml")
	if a.config != "" {
		file = a.abs(a.config)
	}
	text, err := userfile.Read(file, userfile.MaxText)
	if errors.Is(err, fs.ErrNotExist) && a.config == "" {
		return file, nil, nil
	}
	if err != nil {
		return file, nil, usage("name a file that can be read", "read the settings: %v", err)
	}
	if err := toml.Unmarshal(text, &all); err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return file, nil, usage("a table for each command, [serve] for one, and in it its flags", "%s:%d: %s", file, at.Position.Line, at.Message)
		}
		return file, nil, usage("a table for each command, [serve] for one, and in it its flags", "%s: %v", file, err)
	}
	return file, all, known(root, file, all)
}

// known refuses tables that no command has, and keys that no flag of it has.
func known(root *cobra.Command, file string, all map[string]map[string]any) error {
	flags, names := map[string][]string{}, []string{}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
		flags[c.Name()] = flagsBelow(c)
	}
	for _, table := range slices.Sorted(maps.Keys(all)) {
		if flags[table] == nil {
			return usage(nearest(table, names), "%s: no command is called %q", file, table)
		}
		for _, key := range slices.Sorted(maps.Keys(all[table])) {
			if !slices.Contains(flags[table], key) {
				return usage(nearest(key, flags[table]), "%s: %s has no setting %q", file, table, key)
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
