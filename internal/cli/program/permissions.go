package program

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
)

// PermissionFlags say what the program may touch: --sandbox, and a flag for each
// of engine.Permissions.
type PermissionFlags struct {
	sandbox bool
	lists   [len(engine.Permissions)]listFlag
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
		{"--sandbox " + engine.PermitRead.Give("data") + " " + engine.PermitWrite.Give("data/out"), ""},
		{"", "files in data, of which those in data/out to write"},
		{"--sandbox " + engine.PermitNet.Give("api.openai.com") + " " + engine.PermitEnv.Give("OPENAI_API_KEY"), ""},
		{"", "its model with its key, and nothing else"},
		{engine.PermitRun.Give("git") + " " + engine.PermitHost.Give("Coder"), ""},
		{"", "of commands git alone, of hosts Coder alone"},
		{"--" + engine.Permissions[engine.PermitNet].Flag + "=", "no network host"},
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
	for i, k := range engine.Permissions {
		c.Flags().Var(&f.lists[i], k.Flag, k.Doc)
		c.Flags().Lookup(k.Flag).NoOptDefVal = console.Everything
	}
}

// Grants are what the flags allow.
func (f *PermissionFlags) Grants() (engine.Grants, error) {
	g := engine.Grants{Sandbox: f.sandbox, Allow: map[engine.Permission]engine.Granted{}}
	for i, l := range f.lists {
		if l.given {
			g.Allow[engine.Permission(i)] = l.Granted
		}
	}
	if err := g.Check(); err != nil {
		return g, console.Usage("", "%v", err)
	}
	return g, nil
}

// listFlag is a flag that lists what is allowed of a kind.
type listFlag struct {
	engine.Granted
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
	for _, k := range engine.Permissions {
		if k.Kind == engine.PermitRead || k.Kind == engine.PermitWrite {
			continue
		}
		console.CompleteFlag(c, k.Flag, func() (names []string) {
			if k.Kind == engine.PermitEnv {
				for _, v := range a.Environ {
					name, _, _ := strings.Cut(v, "=")
					names = append(names, name)
				}
			}
			return names
		})
	}
}
