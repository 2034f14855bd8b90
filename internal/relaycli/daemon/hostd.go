// Package daemon implements the commands about hostd on this machine.
package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/process/procgroup/systems"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/hostd/install"
)

// NewHostd returns the command hostd.
func NewHostd(a *console.Console) *cobra.Command {
	var s HostdSettings
	var ready string
	c := a.Group(&cobra.Command{
		Use:   "hostd",
		Short: "Start the daemon of this machine",
		Long: `hostd starts runs on terminals, stores their output until the server has it, forwards their
requests, and serves the command line on a unix socket. Runs continue while hostd is stopped.
Without --server it serves this machine only. Without --host-id and a token it creates both at its
first start. With --page-cert it also serves the page, by https at a name of a private network: a
phone then uses a page that does not come from the server.

prompts.toml, next to relay.toml, adds rules that recognize prompts. $REDACTION_EXTRA_REGEX is a
regular expression for text to redact from commands, inputs and logs.`,
		Example: `  concerto-relay hostd
  concerto-relay hostd --server https://relay.example --token-file machine-token
  concerto-relay hostd --page-cert desk.tail1.ts.net.crt --page-key desk.tail1.ts.net.key
  concerto-relay hostd install --server https://relay.example --token-file machine-token`,
	}, hostdInstallCommand(a), hostdUninstallCommand(a))
	c.RunE = func(*cobra.Command, []string) error {
		if missing := systems.Missing("hostd", runtime.GOOS); missing != "" {
			return console.Usage("run it in WSL", "%s", missing)
		}
		return runHostd(a, &s, ready)
	}
	c.Flags().StringVar(&ready, "ready-file", "", "write the socket's path to `FILE` when hostd is ready")
	HostdFlags(a, c.PersistentFlags(), &s)
	return c
}

func hostdInstallCommand(a *console.Console) *cobra.Command {
	var system bool
	c := &cobra.Command{
		Use:   "install",
		Short: "Install hostd as a service",
		Long: `Creates a systemd unit or a launchd agent that starts hostd now, at boot and whenever it exits. The
flags of hostd and the variables for them are written into the unit. A token is not: name its file
by --token-file.`,
		Example: `  concerto-relay hostd install
  concerto-relay hostd install --server https://relay.example --token-file machine-token
  concerto-relay hostd install --system`,
		Args: console.ArgsBetween(0, 0, "concerto-relay hostd install --server https://relay.example"),
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := installOptions(a, c, system)
			if err != nil {
				return err
			}
			r, err := install.Install(c.Context(), o)
			return printInstall(a, r, err, "hostd is installed by "+r.File)
		},
	}
	c.Flags().BoolVar(&system, "system", false, "install for the machine instead of the user; requires root")
	return c
}

func hostdUninstallCommand(a *console.Console) *cobra.Command {
	var system bool
	c := &cobra.Command{
		Use:     "uninstall",
		Short:   "Uninstall the service of hostd",
		Long:    `Stops hostd and removes its unit. Runs continue, and hostd's state remains.`,
		Example: `  concerto-relay hostd uninstall`,
		Args:    console.ArgsBetween(0, 0, "concerto-relay hostd uninstall"),
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := installOptions(a, c, system)
			if err != nil {
				return err
			}
			r, err := install.Uninstall(c.Context(), o)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("hostd is not installed: %w", err)
			}
			return printInstall(a, r, err, "hostd is installed no more: "+r.File+" is removed")
		},
	}
	c.Flags().BoolVar(&system, "system", false, "remove the service of the machine; requires root")
	return c
}

func installOptions(a *console.Console, c *cobra.Command, system bool) (o install.Options, err error) {
	o = install.Options{Args: append([]string{"hostd"}, changedFlags(a, c)...), Environ: a.Environ, System: system}
	if o.Executable, err = os.Executable(); err == nil {
		o.Executable, err = filepath.EvalSymlinks(o.Executable) // the name of a symbolic link could select another command
	}
	return o, err
}

// printInstall prints did, which describes what was installed or removed. If the service manager
// could not be notified, it also prints the commands that the user must run.
func printInstall(a *console.Console, r install.Result, err error, did string) error {
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, did)
	if r.Err != nil {
		fmt.Fprintf(a.Stderr, "concerto-relay: could not notify the service manager: %v\nhint: run these commands: %s\n", r.Err, strings.Join(r.Todo, " && "))
	}
	return nil
}

// changedFlags returns the hostd flags that are set on the command line or by environment
// variables, with absolute paths. It omits the settings of relay.toml, because the installed hostd
// reads that file.
func changedFlags(a *console.Console, c *cobra.Command) (out []string) {
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		place := a.SourceOf(f.Name)
		if !f.Changed || !strings.HasPrefix(place, "--") && !strings.HasPrefix(place, "$") {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if slices.Contains(paths, f.Name) || f.Name == "config" {
				v = a.Abs(v)
			}
			out = append(out, "--"+f.Name, v)
		}
	})
	return out
}
