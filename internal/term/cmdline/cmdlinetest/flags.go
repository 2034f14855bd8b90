// Package cmdlinetest contains checks for the commands of a program: flags with the same meaning
// must have the same name, former names must work, and help must have a uniform form.
package cmdlinetest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// oneName maps flag names that are common in other programs to Concerto's name for the same
// meaning.
var oneName = map[string]string{
	"json": "format", "ndjson": "format", "jsonl": "format", "form": "format", "output-format": "format",
	"out": "output", "output-file": "output", "outfile": "output",
	"force": "yes", "assume-yes": "yes", "no-confirm": "yes",
	"dir": "directory", "cwd": "directory",
}

// otherMeaning lists visible flags whose names are in oneName but that have another meaning, with
// that meaning.
var otherMeaning = map[string]string{
	"concerto work rm --force":    "as for git: work that exists nowhere else is lost",
	"concerto add --dir":          "the directory of a package in its repository",
	"concerto eval --dir":         "the directory of results and tapes",
	"concerto guard test --json":  "the input of a hook is JSON; --format is also a flag of the command",
	"concerto worker --dir":       "the directory of programs, not of the worker's other files",
	"concerto-relay run --ndjson": "the protocol of the command that it starts",
}

// metavars lists the flags whose values have different names in different commands, with the
// reason.
var metavars = map[string]string{
	"case":     "eval runs several cases, eval show shows one",
	"answer":   "the answer to one request has no channel",
	"base":     "a workspace begins at a revision, a link with an address",
	"at":       "a run starts at a time; inspect and fork name an effect",
	"drain":    "serve accepts a number of seconds, and worker any duration",
	"state":    "list selects runs by their states, and the files of a worker are in a directory",
	"env":      "an MCP server's variables are few, those of a program are in a file",
	"emit":     "build emits a stage of the compiler, run the events of a program",
	"wait":     "an approval waits for a time, a run until it is answered",
	"pass-env": "serve and mcp add accept one name a time",
	"record":   "test chooses the tapes to write, run names the file",
	"wire":     "conform writes a recording of each scenario",
	"root":     "hostd and serve allow different things below the directory",
}

// Flags checks the flags of all commands.
func Flags(t *testing.T, root *cobra.Command) {
	t.Helper()
	values, owner := map[string]string{}, map[string]string{}
	shorthands := map[string]string{}
	for _, c := range All(root) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			at := c.CommandPath() + " --" + f.Name
			if f.Hidden || c.Hidden {
				return
			}
			if name := oneName[f.Name]; name != "" && otherMeaning[at] == "" {
				t.Errorf("%s: other commands call this flag --%s", at, name)
			}
			if f.Shorthand != "" {
				if other := shorthands[f.Shorthand]; other != "" && other != f.Name {
					t.Errorf("%s: -%s is already the short form of --%s", at, f.Shorthand, other)
				}
				shorthands[f.Shorthand] = f.Name
			}
			value, _ := pflag.UnquoteUsage(f)
			if other, seen := values[f.Name]; seen && other != value && metavars[f.Name] == "" {
				t.Errorf("the value of %s is called %q, but that of %s is called %q", at, value, owner[f.Name], other)
			}
			values[f.Name], owner[f.Name] = value, at
		})
	}
}

// Aliases checks the former names of commands and flags. Each must exist and be hidden, and each
// former flag must set the current flag.
func Aliases(t *testing.T, build func() *cobra.Command) {
	t.Helper()
	for _, alias := range cmdline.CommandAliases {
		if root := build(); strings.HasPrefix(alias.Old, root.Name()+" ") {
			c := lookup(t, root, alias.Old)
			if c != nil && (!c.Hidden || !strings.Contains(c.Long, "`"+alias.New+"`")) {
				t.Errorf("the former command %s is not hidden, or its help does not mention %s", alias.Old, alias.New)
			}
		}
	}
	for _, alias := range cmdline.FlagAliases {
		root := build()
		if !strings.HasPrefix(alias.Command, root.Name()+" ") {
			continue
		}
		c := lookup(t, root, alias.Command)
		f := c.Flags().Lookup(alias.Old)
		if f == nil || !f.Hidden {
			t.Errorf("%s has no hidden flag --%s", alias.Command, alias.Old)
			continue
		}
		want, value := alias.Value, "--"+alias.Old
		if alias.New != "" && alias.Value == "" {
			want = "true"
			if c.Flags().Lookup(alias.New).Value.Type() != "bool" {
				want, value = "given", value+"=given"
			}
		}
		if err := c.ParseFlags([]string{value}); err != nil {
			t.Errorf("parse %s %s: %v", alias.Command, value, err)
			continue
		}
		if alias.New == "" {
			continue
		}
		if to := c.Flags().Lookup(alias.New); !to.Changed || to.Value.String() != want {
			t.Errorf("%s %s sets --%s to the unexpected value %q", alias.Command, value, alias.New, to.Value)
		}
	}
}

func lookup(t *testing.T, root *cobra.Command, path string) *cobra.Command {
	t.Helper()
	for _, c := range All(root) {
		if c.CommandPath() == path {
			return c
		}
	}
	t.Errorf("the program has no command %s", path)
	return nil
}

// All returns c and all commands below it.
func All(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, All(sub)...)
	}
	return all
}
