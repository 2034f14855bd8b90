package program

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// PermissionFlags say what the program may touch: --sandbox, and a flag for each
// of permit.Kinds.
type PermissionFlags struct {
	sandbox bool
	lists   [len(permit.Kinds)]listFlag
}

// PermissionHelp explains the flags. It is a part of the help of each command
// that has them.
func PermissionHelp(command string) string {
	var b strings.Builder
	b.WriteString(`What the program may touch (spec/19-permissions.md) can be narrowed. A flag
allows what it lists of its kind and no more, or without a list all of it; other
kinds stay as they are. --sandbox refuses whatever no flag allows. What is
refused is an error in the program, which names the flag to give. Values stand
behind "=", separated by commas; a flag may be repeated.

`)
	for _, line := range [][2]string{
		{"--sandbox", "no files, network, variables, commands or hosts"},
		{"--sandbox " + permit.Read.Give("data") + " " + permit.Write.Give("data/out"), ""},
		{"", "files in data, of which those in data/out to write"},
		{"--sandbox " + permit.Net.Give("api.openai.com") + " " + permit.Env.Give("OPENAI_API_KEY"), ""},
		{"", "its model with its key, and nothing else"},
		{permit.Run.Give("git") + " " + permit.Host.Give("Coder"), ""},
		{"", "of commands git alone, of hosts Coder alone"},
		{"--" + permit.Kinds[permit.Net].Flag + "=", "no network host"},
	} {
		if line[0] != "" {
			line[0] = command + " " + line[0]
		}
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-30s %s", line[0], line[1]), " "))
	}
	return strings.TrimRight(b.String(), "\n")
}

func (f *PermissionFlags) Add(c *cobra.Command) {
	c.Flags().BoolVar(&f.sandbox, "sandbox", false, "let the program touch nothing but what the --allow flags allow")
	for i, k := range permit.Kinds {
		c.Flags().Var(&f.lists[i], k.Flag, k.Doc)
		c.Flags().Lookup(k.Flag).NoOptDefVal = console.Everything
	}
}

// Grants are what the flags allow.
func (f *PermissionFlags) Grants() (permit.Grants, error) {
	g := permit.Grants{Sandbox: f.sandbox, Allow: map[permit.Kind]permit.List{}}
	for i, l := range f.lists {
		if l.given {
			g.Allow[permit.Kind(i)] = l.List
		}
	}
	if err := g.Check(); err != nil {
		return g, console.Usage("", "%v", err)
	}
	return g, nil
}

// listFlag is a flag that lists what is allowed of a kind.
type listFlag struct {
	permit.List
	given bool
}

// Set adds the things of a line of CSV.
func (l *listFlag) Set(text string) error {
	l.given = true
	switch text {
	case console.Everything:
		l.All = true
		return nil
	case "":
		return nil
	}
	names, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return fmt.Errorf("write a value that holds a comma or a quote as '\"a,b\"'")
	}
	for _, n := range names {
		if n != "" {
			l.Names = append(l.Names, n)
		}
	}
	return nil
}

func (l *listFlag) String() string {
	if l.All {
		return console.Everything
	}
	return strings.Join(l.Names, ",")
}

// Type is what the flag's value is in the help.
func (l *listFlag) Type() string { return "list" }

// Complete completes the values of the flags: paths as the shell does, and names of variables.
func (f *PermissionFlags) Complete(a *console.Console, c *cobra.Command) {
	for _, k := range permit.Kinds {
		if k.Kind == permit.Read || k.Kind == permit.Write {
			continue
		}
		console.CompleteFlag(c, k.Flag, func() (names []string) {
			if k.Kind == permit.Env {
				for _, v := range a.Environ {
					name, _, _ := strings.Cut(v, "=")
					names = append(names, name)
				}
			}
			return names
		})
	}
}
