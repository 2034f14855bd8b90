package deps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages"
	"github.com/concerto-lang/concerto/internal/engine/packages/uses"
)

// NewWhy returns the command why.
func NewWhy(a *console.Console) *cobra.Command {
	cmd := &command{console: a}
	c := &cobra.Command{
		Use:   "why [NAME]",
		Short: "Show who requires a package, and what it may do",
		Long: `Shows which packages require a package, and which version, as each path from the project. With
--uses it also shows the places in the source from which the uses of the package follow. Without
NAME it shows all packages.`,
		Example: "  concerto why\n  concerto why text --uses",
		Args:    console.Arguments(0, 1),
		RunE:    func(c *cobra.Command, args []string) error { return cmd.why(c.Context(), args) },
	}
	c.Flags().BoolVar(&cmd.uses, "uses", false, "show the place in the source of each use")
	return cmd.withFlags(c)
}

// NewVerify returns the command verify.
func NewVerify(a *console.Console) *cobra.Command {
	cmd := &command{console: a}
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare the packages with the lock file",
		Long: `Computes the hash and the uses of every package again, and compares them with concerto.lock. With
--repair, packages that were changed or are missing are fetched again. With --remote, each tag is
compared with its repository. The exit code is 76 if a package was changed or a tag was moved.`,
		Example: "  concerto verify\n  concerto verify --repair\n  concerto verify --remote",
		Args:    console.Arguments(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return cmd.verify(c.Context()) },
	}
	c.Flags().BoolVar(&cmd.repair, "repair", false, "fetch changed and missing packages again")
	c.Flags().BoolVar(&cmd.remote, "remote", false, "compare each tag with its repository")
	return cmd.withFlags(c)
}

// reason is a package in the output of why.
type reason struct {
	Name       string       `json:"name"`
	Git        string       `json:"git"`
	Dir        string       `json:"dir"`
	Version    string       `json:"version"`
	RequiredBy []requiredBy `json:"required_by"`
	Uses       []usedAt     `json:"uses"`
}

type requiredBy struct {
	By      string `json:"by"` // the project's name, or the name of a package
	Version string `json:"version"`
}

type usedAt struct {
	Use pkg.Use  `json:"use"`
	At  []string `json:"at"` // with --uses: places in the source
}

func (cmd *command) why(ctx context.Context, args []string) error {
	return cmd.with(ctx, func(ctx context.Context, r *packages.Resolver) error {
		g, found, err := r.Why(ctx, cmd.uses)
		if err != nil {
			return err
		}
		var shown []*pkg.Package
		for _, p := range g.All {
			if len(args) == 0 || p.Key == args[0] {
				shown = append(shown, p)
			}
		}
		if len(args) > 0 && len(shown) == 0 {
			var names []string
			for _, p := range g.All {
				names = append(names, p.Key)
			}
			hint := "the project requires no packages"
			if len(names) > 0 {
				hint = "the packages are " + strings.Join(names, ", ")
			}
			return console.Usage(hint, "no package `%s`", args[0])
		}
		slices.SortStableFunc(shown, func(a, b *pkg.Package) int { return strings.Compare(a.Key, b.Key) })
		project := r.Project.Manifest.Project.Name
		if project == "" {
			project = "the project"
		}
		all := []reason{}
		for _, p := range shown {
			all = append(all, reasonOf(p, project, found))
		}
		if !cmd.format.IsText() {
			return cmd.console.WriteJSON(all)
		}
		var b strings.Builder
		for i, p := range shown {
			writeReason(&b, p, all[i], project)
		}
		_, err = cmd.console.Stdout.Write([]byte(b.String()))
		return err
	})
}

func reasonOf(p *pkg.Package, project string, found map[*pkg.Locked][]uses.Found) reason {
	x := reason{Name: p.Key, RequiredBy: []requiredBy{}, Uses: []usedAt{}}
	if l := p.Locked; l != nil {
		x.Git, x.Dir, x.Version = l.Git, l.Dir, l.Revision()
		for _, u := range l.Uses {
			at := usedAt{u, []string{}}
			for _, f := range found[l] {
				if u.Covers(f.Use) {
					at.At = append(at.At, f.Place())
				}
			}
			x.Uses = append(x.Uses, at)
		}
	} else {
		x.Version = "path"
	}
	for _, by := range p.By {
		name := project
		if by.By != nil {
			name = by.By.Key
		}
		x.RequiredBy = append(x.RequiredBy, requiredBy{name, by.Version})
	}
	return x
}

// writeReason writes a package with each path from the project to it.
func writeReason(b *strings.Builder, p *pkg.Package, x reason, project string) {
	fmt.Fprintf(b, "%s\n", p.Name())
	for _, way := range ways(p, nil) {
		b.WriteString("  " + project)
		for _, step := range way {
			b.WriteString(" → " + step)
		}
		b.WriteString("\n")
	}
	for _, u := range x.Uses {
		fmt.Fprintf(b, "  uses %s\n", u.Use)
		for _, at := range u.At {
			fmt.Fprintf(b, "    %s\n", at)
		}
	}
}

// mostWays is the maximum number of paths that are shown for a package.
const mostWays = 20

// ways returns the paths from the project to a package, each as the required versions.
func ways(p *pkg.Package, below []string) (out [][]string) {
	for _, by := range p.By {
		if len(out) == mostWays {
			return out
		}
		step := p.Key
		if by.Version != "" {
			step += " " + by.Version
		}
		way := append([]string{step}, below...)
		if by.By == nil {
			out = append(out, way)
			continue
		}
		more := ways(by.By, way)
		out = append(out, more[:min(len(more), mostWays-len(out))]...)
	}
	return out
}

func (cmd *command) verify(ctx context.Context) error {
	return cmd.with(ctx, func(ctx context.Context, r *packages.Resolver) error {
		all, err := r.Verify(ctx, cmd.repair, cmd.remote)
		if err != nil {
			return err
		}
		if cmd.format.IsText() {
			for _, v := range all {
				if _, err := fmt.Fprintf(cmd.console.Stdout, "%-8s %s\n", v.Status, v.Name); err != nil {
					return err
				}
			}
		} else if err := cmd.console.WriteJSON(struct {
			Packages []packages.Verified `json:"packages"`
		}{all}); err != nil {
			return err
		}
		return verdict(all)
	})
}

// verdict returns an error if a package was changed, was moved or is missing.
func verdict(all []packages.Verified) error {
	for _, v := range all {
		switch v.Status {
		case packages.Modified:
			return pkg.Modified(v.Name, v.Expected, v.Found, pkg.RepairHint)
		case packages.Moved:
			return pkg.Errorf(pkg.Changed, "ask the owner of the repository", "tag %s of %s was moved: %s has commit %s, the repository has %s", v.Version, v.Git, pkg.LockFile, v.Expected, v.Found)
		case packages.Missing:
			return pkg.Errorf(pkg.Unavailable, "run `concerto verify --repair`, or compile the project, which fetches it", "%s is not in the cache", v.Name)
		}
	}
	return nil
}
