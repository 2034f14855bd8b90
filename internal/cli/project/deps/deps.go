// Package deps contains the commands for the packages of a project: add, remove, update, why,
// vendor and verify (spec/46-packages.md).
package deps

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// command is one of the commands with its options.
type command struct {
	console  *console.Console
	format   *cmdline.Format
	offline  bool
	allow    []string // values of --allow-new; `*` for all
	dir      string   // --dir
	name     string   // --name
	lockOnly bool     // update --lock
	uses     bool     // why --uses
	repair   bool     // verify --repair
	remote   bool     // verify --remote
}

// anyUse is the value of --allow-new without a value.
const anyUse = "*"

// withFlags adds the flags that all the commands have.
func (cmd *command) withFlags(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&cmd.offline, "offline", false, "fetch nothing: use the cache alone, as with CONCERTO_OFFLINE=1")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return cmdline.InGroup(c, "packages")
}

func (cmd *command) addAllow(c *cobra.Command) {
	c.Flags().StringSliceVar(&cmd.allow, "allow-new", nil, "allow packages to do more than before: everything, or the uses `USE,…`")
	c.Flags().Lookup("allow-new").NoOptDefVal = anyUse
}

// NewAdd returns the command add.
func NewAdd(a *console.Console) *cobra.Command {
	cmd := &command{console: a}
	c := &cobra.Command{
		Use:   "add ADDRESS[@TAG|@COMMIT]",
		Short: "Add a package to the project",
		Long: `Adds a package of a git repository, by default its highest release, to [dependencies] of
Concerto.toml, and writes concerto.lock. No code of the package is executed. Its uses,
such as network hosts and commands, are listed and must be allowed. An ADDRESS that begins with .
or / is the directory of a package.`,
		Example: `  concerto add https://example.com/ada/text
  concerto add https://example.com/ada/text@v1.2.0
  concerto add https://example.com/ada/mono --dir plan
  concerto add ../mine`,
		Args: console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return cmd.add(c.Context(), args[0]) },
	}
	c.Flags().StringVar(&cmd.dir, "dir", "", "add the package in the directory `DIR` of the repository")
	c.Flags().StringVar(&cmd.name, "name", "", "call the package `NAME` in this project (default: the name of its project)")
	cmd.addAllow(c)
	return cmd.withFlags(c)
}

// NewRemove returns the command remove.
func NewRemove(a *console.Console) *cobra.Command {
	cmd := &command{console: a}
	c := &cobra.Command{
		Use:   "remove NAME…",
		Short: "Remove packages from the project",
		Long: `Removes packages from [dependencies] of Concerto.toml, and from concerto.lock what is no longer
needed.`,
		Example: "  concerto remove text\n  concerto remove text plan",
		Args:    console.Arguments(1, -1),
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.with(c.Context(), func(ctx context.Context, r *packages.Resolver) error {
				text, err := r.Remove(args)
				if err != nil {
					return err
				}
				return cmd.apply(ctx, r, text)
			})
		},
	}
	return cmd.withFlags(c)
}

// NewUpdate returns the command update.
func NewUpdate(a *console.Console) *cobra.Command {
	cmd := &command{console: a}
	c := &cobra.Command{
		Use:   "update [NAME…]",
		Short: "Update packages to their highest release",
		Long: `Raises the packages that the project requires, or those named, to the highest release of their
major, and reports newer majors. New uses of a package, such as network hosts and commands, are
listed and must be allowed. With --lock it raises nothing, and only brings concerto.lock in line
with Concerto.toml.`,
		Example: `  concerto update
  concerto update text
  concerto update --lock`,
		Args: console.Arguments(0, -1),
		RunE: func(c *cobra.Command, args []string) error { return cmd.update(c.Context(), args) },
	}
	c.Flags().BoolVar(&cmd.lockOnly, "lock", false, "raise nothing: bring concerto.lock in line with the manifest")
	cmd.addAllow(c)
	return cmd.withFlags(c)
}

// NewVendor returns the command vendor.
func NewVendor(a *console.Console) *cobra.Command {
	cmd := &command{console: a}
	c := &cobra.Command{
		Use:   "vendor",
		Short: "Copy the packages into the project",
		Long: `Copies the packages of concerto.lock into the directory vendor/, which it replaces whole. From then
on they are read there alone, and add, remove and update rewrite it. To stop using it, delete the
directory.`,
		Example: "  concerto vendor",
		Args:    console.Arguments(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return cmd.vendor(c.Context()) },
	}
	return cmd.withFlags(c)
}

// with calls do with a resolver for the project of the working directory. Only `update --lock`
// accepts an error in the lock file.
func (cmd *command) with(ctx context.Context, do func(ctx context.Context, r *packages.Resolver) error) error {
	if err := cmd.checkAllowed(); err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(ctx)
	defer signals.Stop()
	p, err := packages.Open(cmd.console.Dir)
	if err != nil {
		return err
	}
	if p.Found.HasErrors() {
		return cmd.console.ShowDiagnostics(p.Found)
	}
	if p.LockErr != nil && !cmd.lockOnly {
		return p.LockErr
	}
	return do(ctx, &packages.Resolver{Fetcher: cmd.console.Fetcher(cmd.offline), Project: p})
}

func (cmd *command) add(ctx context.Context, address string) error {
	return cmd.with(ctx, func(ctx context.Context, r *packages.Resolver) error {
		add := packages.Addition{Dir: cmd.dir, Name: cmd.name}
		add.Address, add.Version = packages.SplitAddress(address)
		text, _, err := r.Add(ctx, add)
		if err != nil {
			return err
		}
		return cmd.apply(ctx, r, text)
	})
}

func (cmd *command) update(ctx context.Context, names []string) error {
	if cmd.lockOnly && len(names) > 0 {
		return console.Usage("leave out the names: --lock concerns all packages", "--lock and names cannot be used together")
	}
	return cmd.with(ctx, func(ctx context.Context, r *packages.Resolver) error {
		if cmd.lockOnly {
			if r.Project.LockErr != nil {
				cmd.console.Notef("%s is written again: %v\n", pkg.LockFile, r.Project.LockErr)
			}
			return cmd.apply(ctx, r, r.Project.Text())
		}
		text, majors, err := r.Update(ctx, names)
		if err != nil {
			return err
		}
		if err := cmd.apply(ctx, r, text); err != nil {
			return err
		}
		for _, m := range majors {
			cmd.console.Notef("%s: a newer major is available: concerto add %s@%s\n", m.Name, m.Git, m.Tag)
		}
		return nil
	})
}

// apply resolves a manifest, requests consent to new uses, writes the files and prints the changes.
func (cmd *command) apply(ctx context.Context, r *packages.Resolver, text []byte) error {
	to, err := r.Resolve(ctx, text)
	if err != nil {
		return err
	}
	changes := r.Project.Changes(to)
	if err := cmd.consent(ctx, r, to, changes); err != nil {
		return err
	}
	if err := r.Project.Write(to); err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(struct {
			Changes []packages.Change `json:"changes"`
		}{changes})
	}
	for _, c := range changes {
		if _, err := fmt.Fprintln(cmd.console.Stdout, describe(c)); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		cmd.console.Notef("nothing to change\n")
	}
	return nil
}

// describe returns a change as a line for people.
func describe(c packages.Change) string {
	where := ""
	if c.Git != "" {
		where = " (" + pkg.JoinDir(c.Git, c.Dir) + ")"
	}
	switch {
	case c.From == nil:
		return "added " + c.Name + " " + *c.To + where
	case c.To == nil:
		return "removed " + c.Name + " " + *c.From + where
	case *c.From == *c.To:
		return "changed " + c.Name + " " + *c.To + where
	}
	return "updated " + c.Name + " " + *c.From + " → " + *c.To + where
}

// checkAllowed reports values of --allow-new that are no uses.
func (cmd *command) checkAllowed() error {
	for _, text := range cmd.allow {
		if _, ok := pkg.ParseUse(text); !ok && text != anyUse {
			return console.Usage("a use is a kind, or KIND:TARGET, such as net:api.example.com; the kinds are "+strings.Join(pkg.UseKinds, ", "), "--allow-new: %q is not a use", text)
		}
	}
	return nil
}

// consent asks whether packages may do more than before. It returns an error if they may not.
func (cmd *command) consent(ctx context.Context, r *packages.Resolver, to *packages.Resolution, changes []packages.Change) error {
	var lines []string
	var sources []string
	for _, c := range changes {
		for _, f := range c.Found {
			if cmd.allows(f.Use) {
				continue
			}
			versions := *c.To
			if c.From != nil && *c.From != *c.To {
				versions = *c.From + " → " + *c.To
			}
			lines = append(lines, fmt.Sprintf("%s %s newly uses %s (%s)", c.Name, versions, f.Use, f.Place()))
			if dir := to.SourceOf(r.Fetcher.Cache, c); dir != "" && !slices.Contains(sources, dir) {
				sources = append(sources, dir)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	a := cmd.console
	for _, line := range lines {
		fmt.Fprintln(a.Stderr, line)
	}
	hint := "repeat with --allow-new to accept; the source is in " + strings.Join(sources, ", ")
	ask := a.Prompter()
	if ask == nil || !a.TTY.In {
		return console.Usage(hint, "nothing was changed, because packages may do more than before")
	}
	answer, err := ask.Ask(ctx, "Allow? [y/N]")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return console.Usage(hint, "nothing was changed")
	}
	return nil
}

// allows reports whether --allow-new allows a use.
func (cmd *command) allows(u pkg.Use) bool {
	return slices.ContainsFunc(cmd.allow, func(text string) bool { return text == anyUse || pkg.Use(text).Covers(u) })
}

func (cmd *command) vendor(ctx context.Context) error {
	return cmd.with(ctx, func(ctx context.Context, r *packages.Resolver) error {
		to, err := r.Locked(ctx)
		if err != nil {
			return err
		}
		if err := r.Project.Vendor(to); err != nil {
			return err
		}
		dirs := []string{}
		for _, l := range to.Lock.Packages {
			dirs = append(dirs, filepath.ToSlash(filepath.Join(pkgcache.VendorDir, pkgcache.VendorName(l))))
		}
		if !cmd.format.IsText() {
			return cmd.console.WriteJSON(struct {
				Vendored []string `json:"vendored"`
			}{dirs})
		}
		for _, d := range dirs {
			if _, err := fmt.Fprintln(cmd.console.Stdout, d); err != nil {
				return err
			}
		}
		return nil
	})
}
