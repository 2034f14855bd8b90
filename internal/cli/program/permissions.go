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

// PermissionRows are the rows of the flags in help, for cmdline.Group.
func PermissionRows() []string {
	var names []string
	for _, k := range permit.Kinds {
		names = append(names, k.Flag)
	}
	return []string{"sandbox", strings.Join(names, " ") + " | --allow-KIND=LIST | allow only LIST; KIND is read, write, net, env, run or host"}
}

// Add adds the flags to a command.
func (f *PermissionFlags) Add(c *cobra.Command) {
	c.Flags().BoolVar(&f.sandbox, "sandbox", false, "deny everything that no --allow flag lists")
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
