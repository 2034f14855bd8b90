package program

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// PermissionFlags are the flags that restrict or grant permissions of the program: --sandbox, and
// one flag for each of permit.Kinds.
type PermissionFlags struct {
	sandbox bool
	lists   [len(permit.Kinds)]listFlag
}

// PermissionRows returns the rows of the flags in help, for cmdline.Group.
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

// Grants returns the permissions that the flags grant.
func (f *PermissionFlags) Grants() (permit.Grants, error) {
	g := permit.Grants{Sandbox: f.sandbox, Allow: map[permit.Kind]permit.List{}}
	for i, l := range f.lists {
		if l.isSet {
			g.Allow[permit.Kind(i)] = l.List
		}
	}
	if err := g.Check(); err != nil {
		return g, console.Usage("", "%v", err)
	}
	return g, nil
}

// listFlag is a flag whose value lists what one kind of permission allows.
type listFlag struct {
	permit.List
	isSet bool
}

// Set adds the elements of text, which is a line of CSV.
func (l *listFlag) Set(text string) error {
	l.isSet = true
	switch text {
	case console.Everything:
		l.All = true
		return nil
	case "":
		return nil
	}
	names, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return fmt.Errorf("quote a value that contains a comma or a quote: '\"a,b\"'")
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

// Type returns the name of the value's type, for help.
func (l *listFlag) Type() string { return "list" }

// Complete adds completions of variable names to the flags. The shell completes paths.
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
