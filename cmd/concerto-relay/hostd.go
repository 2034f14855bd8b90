package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/relay/hostd/install"
)

func (a *app) hostdCommand() *cobra.Command {
	var s hostdSettings
	var ready string
	c := a.group(&cobra.Command{
		Use:   "hostd",
		Short: "The daemon on a machine where agents run",
		Long: `The daemon on a machine where agents run: it starts runs on terminals, keeps what they write
until the server has it, asks about their prompts, and serves the command line on a unix
socket. Runs outlive it: killed and started again, it goes on where it was.

  concerto-relay hostd --server https://relay.example --token-file ~/.config/concerto/host-token
  concerto-relay hostd            without a server: for this machine alone
  concerto-relay run -- claude    start a run, and show it
  concerto-relay hostd install --server https://relay.example --host-id desk --token-file ~/.config/concerto/host-token
                                  start it now, and whenever the machine starts

Without --host-id and a token it makes them at its first start, and keeps them in --state.
prompts.toml, beside relay.toml, adds rules of prompts. $REDACTION_EXTRA_REGEX is an expression
for what else is taken out of commands, inputs and logs. SIGTERM ends it with 0.`,
	}, a.hostdInstallCommand(), a.hostdUninstallCommand())
	c.RunE = func(*cobra.Command, []string) error { return a.hostd(&s, ready) }
	c.Flags().StringVar(&ready, "ready-file", "", "write the socket's path to this `FILE` once it serves")
	a.hostdFlags(c.PersistentFlags(), &s)
	return c
}

func (a *app) hostdInstallCommand() *cobra.Command {
	var system bool
	c := &cobra.Command{
		Use:   "install",
		Short: "Have the system start hostd, and start it again when it ends",
		Long: `Have the system start hostd now, whenever the machine starts, and again when it ends: by
a unit of systemd, or an agent of launchd. Runs go on while hostd does not run.

Flags of hostd, and the variables that stand for them, are written into the unit. A token
is not: name its file by --token-file.

  concerto-relay hostd install
  concerto-relay hostd install --server https://relay.example --host-id desk --token-file ~/.config/concerto/host-token`,
		Args: takes(0, 0, "concerto-relay hostd install --server https://relay.example"),
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := a.installOptions(c, system)
			if err != nil {
				return err
			}
			r, err := install.Install(c.Context(), o)
			return a.installed(r, err, "hostd is installed by "+r.File)
		},
	}
	c.Flags().BoolVar(&system, "system", false, "for the machine, not for this user alone; needs root")
	return c
}

func (a *app) hostdUninstallCommand() *cobra.Command {
	var system bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Have the system start hostd no more",
		Long: `Have the system end hostd and start it no more. Its runs go on, and what it keeps stays.

  concerto-relay hostd uninstall`,
		Args: takes(0, 0, "concerto-relay hostd uninstall"),
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := a.installOptions(c, system)
			if err != nil {
				return err
			}
			r, err := install.Uninstall(c.Context(), o)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("hostd is not installed: %w", err)
			}
			return a.installed(r, err, "hostd is installed no more: "+r.File+" is removed")
		},
	}
	c.Flags().BoolVar(&system, "system", false, "that of the machine, not of this user; needs root")
	return c
}

func (a *app) installOptions(c *cobra.Command, system bool) (o install.Options, err error) {
	o = install.Options{Args: append([]string{"hostd"}, a.givenFlags(c)...), Environ: a.environ, System: system}
	if o.Executable, err = os.Executable(); err == nil {
		o.Executable, err = filepath.EvalSymlinks(o.Executable) // a link's name might make it another command
	}
	return o, err
}

// installed says what was done, and what is left to do.
func (a *app) installed(r install.Result, err error, did string) error {
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, did)
	if r.Err != nil {
		fmt.Fprintf(a.stderr, "concerto-relay: the system could not be told: %v\nhint: do it by hand: %s\n", r.Err, strings.Join(r.Todo, " && "))
	}
	return nil
}

// givenFlags are hostd's flags that were given, by themselves or by variables, with paths that hold in
// any directory. What relay.toml says, hostd reads there.
func (a *app) givenFlags(c *cobra.Command) (out []string) {
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		place := a.place(f.Name)
		if !f.Changed || !strings.HasPrefix(place, "--") && !strings.HasPrefix(place, "$") {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if slices.Contains(paths, f.Name) || f.Name == "config" {
				v = a.abs(v)
			}
			out = append(out, "--"+f.Name, v)
		}
	})
	return out
}
