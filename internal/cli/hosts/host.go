// Package hosts has the commands that list, test, talk to and replay hosts.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/hostcheck"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/hostsandbox"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

func NewHost(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "host COMMAND",
		Short: "List, test and talk to hosts",
		Long:  `A host is an external program, such as a coding agent, that a Concerto program supervises.`,
		Example: `  concerto host list
  concerto host test Coder
  concerto host talk Coder`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return console.Usage("`concerto host --help` lists the commands", "host requires a command")
		},
	}
	c.AddCommand(newHostBridge(a), newHostList(a), newHostTest(a), newHostTalk(a), newHostConform(a), newHostReplay(a))
	return c
}

// listCommand is the command host list with its options.
type listCommand struct {
	console *console.Console
	format  *cmdline.Format
}

func newHostList(a *console.Console) *cobra.Command {
	cmd := listCommand{console: a}
	c := &cobra.Command{
		Use:   "list [PATH]",
		Short: "List the hosts of a program, and whether they start",
		Long: `Starts and stops each host that a program declares. Prints name, transport, command, whether the
command was found, version and capabilities. Exit code 1 reports a host that does not start. With
--verbose, also prints the files that a sandbox allows for the host's program.`,
		Example: `  concerto host list                 list the hosts of the project in this directory or above
  concerto host list --format json`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := console.Path(c, args)
			return cmd.list(c.Context(), p)
		},
	}
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

// listedHost is a host in the list.
type listedHost struct {
	Name         string   `json:"name"`
	Connector    string   `json:"connector"`
	Transport    string   `json:"transport"`
	Command      []string `json:"command"`
	Found        bool     `json:"found"`
	Version      string   `json:"version,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Unconfined   []string `json:"unconfined,omitempty"` // features that its sandbox lacks here
	Error        string   `json:"error,omitempty"`

	needs []hostsandbox.Need // of its program
}

func (cmd *listCommand) list(parent context.Context, path string) error {
	_, configs, err := hostConfigs(cmd.console, path)
	if err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	<-signals.Ready
	run := cmd.console.Processes()
	hosts := host.New(host.Options{Configs: configs, Environ: cmd.console.Environ, Run: run, Directories: workspace.Directories{}, Sandboxes: hostsandbox.Sandboxes{}, Stderr: func(name, line string) { logStderr(cmd.console, name, line) }})
	defer hosts.Close(ctx)
	all := []listedHost{}
	for _, c := range configs {
		state, err := hosts.Probe(ctx, c.Name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l := listedHost{Name: c.Name, Connector: c.Connector, Transport: transportOf(c), Command: commandOf(c, cmd.console.Dir),
			Found: !errors.Is(err, procgroup.ErrNotFound), Version: state.Version, Capabilities: state.Capabilities}
		if err != nil {
			l.Error = err.Error()
		}
		l.Unconfined = hostsandbox.Unconfined(&c, run)
		if found, err := procgroup.Find(host.Program(&c), c.Dir, cmd.console.Environ); err == nil {
			l.needs = hostsandbox.Needs(&c, found, cmd.console.Environ)
		}
		all = append(all, l)
	}
	if err := cmd.write(all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(l listedHost) bool { return l.Error != "" }) {
		return console.ExitError(console.ExitFailed)
	}
	return nil
}

func (cmd *listCommand) write(all []listedHost) error {
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(all)
	}
	if len(all) == 0 {
		cmd.console.Notef("no hosts: a program declares them with `host`, and [hosts.X] in Concerto.toml configures them\n")
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	for _, l := range all {
		found := "found"
		if !l.Found {
			found = "not found"
		}
		cells := []string{l.Name, l.Transport, strings.Join(l.Command, " "), found, l.Version, strings.Join(l.Capabilities, ",")}
		for i, cell := range cells {
			if cell == "" {
				cell = "-"
			}
			cells[i] = console.Printable(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range all {
		if l.Error != "" {
			cmd.console.Complain(l.Error, "")
		} else if len(l.Unconfined) > 0 {
			cmd.console.Notef("host '%s' runs without a complete sandbox: this system does not support %s\n", l.Name, strings.Join(l.Unconfined, ", "))
		}
		cmd.writeNeeds(&l)
	}
	return nil
}

// writeNeeds prints the files that the program of a vendor's host needs in a sandbox, for
// --verbose.
func (cmd *listCommand) writeNeeds(l *listedHost) {
	for _, n := range l.needs {
		if path, ok := n.Absolute(cmd.console.Environ); ok && (n.Create || n.Exists(cmd.console.Environ)) {
			access := "reads"
			if n.Write {
				access = "writes"
			}
			cmd.console.Verbosef("%s in a sandbox %s %s: %s", l.Name, access, path, n.Doc)
		}
	}
}

func transportOf(c host.Config) string {
	if c.Transport == "" {
		return "stdio"
	}
	return c.Transport
}

// commandOf returns the command line of a host. It makes a path below dir relative to dir.
func commandOf(c host.Config, dir string) []string {
	command := host.Program(&c)
	if below, err := filepath.Rel(dir, command); err == nil && filepath.IsAbs(command) && filepath.IsLocal(below) {
		command = "./" + filepath.ToSlash(below)
	}
	return append([]string{command}, c.Args...)
}

// hostConfigs compiles a program and returns its hosts.
func hostConfigs(a *console.Console, path string) (*engine.Program, []host.Config, error) {
	p, found, err := engine.CompileSource(driver.Request{Path: path, Dir: a.Dir, Packages: a.Packages(), Programs: a.Programs()})
	if err != nil {
		return nil, nil, console.SourceError(err)
	}
	if p == nil {
		return nil, nil, a.ShowDiagnostics(found)
	}
	configs, err := p.HostConfigs()
	return p, configs, err
}

// testCommand is the command host test with its options.
type testCommand struct {
	console *console.Console

	transport string
	only      []string
	format    *cmdline.Format
	wire      string
	program   string // file of the program that declares the host; "" if the arguments are the host's command
}

func newHostTest(a *console.Console) *cobra.Command {
	cmd := testCommand{console: a}
	c := &cobra.Command{
		Use:   "test NAME | -- COMMAND ARGS…",
		Short: "Test whether a host follows the protocol",
		Long: `Runs these checks on a host that the program declares, or on a command:

` + wrapped(hostcheck.Names()) + `

Each check sends a prompt such as "concerto test: question". A host with the SDK option
testable answers all checks. Other hosts pass with any reply that the protocol allows; a check
without a reply is skipped. The host receives no permissions. Exit code 1 reports a failed check.`,
		Example: `  concerto host test Coder
  concerto host test -- python3 coder.py
  concerto host test --only question,approval -- ./coder
  concerto host test --transport claude-code -- claude`,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := cmd.hostUnderTest(c.ArgsLenAtDash(), args)
			if err != nil {
				return err
			}
			return cmd.run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&cmd.transport, "transport", "", "use `TRANSPORT`: "+strings.Join(host.Transports(), ", "))
	c.Flags().StringSliceVar(&cmd.only, "only", nil, "run only these `CHECKS`, separated by commas")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	c.Flags().StringVar(&cmd.wire, "wire", "", program.WireUsage)
	return c
}

// wrapped returns words, separated by spaces, as indented lines of help text.
func wrapped(words []string) string {
	return "  " + strings.ReplaceAll(console.Wrap(strings.Join(words, " "), 76), "\n", "\n  ")
}

// hostUnderTest returns the host that the arguments name: a host of the program, or a command after
// `--`.
func (cmd *testCommand) hostUnderTest(dash int, args []string) (hostcheck.Options, error) {
	o := hostcheck.Options{Environ: cmd.console.Environ, Run: cmd.console.Processes(), Sandboxes: hostsandbox.Sandboxes{}, Only: cmd.only, Stderr: func(line []byte) { logStderr(cmd.console, "the host", string(line)) }}
	for _, name := range cmd.only {
		if err := console.OneOf("--only", name, hostcheck.Names()); err != nil {
			return o, err
		}
	}
	if cmd.transport != "" && !slices.Contains(host.Transports(), cmd.transport) {
		return o, console.Usage("the transports are "+strings.Join(host.Transports(), ", "), "invalid value %q for --transport", cmd.transport)
	}
	named := len(args)
	if dash >= 0 {
		named = dash
	}
	switch {
	case named == 0 && dash >= 0 && len(args) > 0:
		o.Config = host.Config{Name: filepath.Base(args[0]), Command: args[0], Args: args[1:], Dir: cmd.console.Dir, OutputFormat: "json"}
		if strings.Contains(args[0], "/") {
			o.Config.Command = cmd.console.Abs(args[0])
		}
	case named == 1 && len(args) == 1:
		c, p, err := findHost(cmd.console, args[0])
		if err != nil {
			return o, err
		}
		o.Config, cmd.program = c, p.MainFile()
	default:
		return o, console.Usage("`concerto host test <name>` or `concerto host test -- <command>`", "host test requires the name of a host, or a command after `--`")
	}
	if cmd.transport != "" {
		o.Config.Transport = cmd.transport
	}
	return o, nil
}

// logStderr logs a line of a host's standard error, for --verbose.
func logStderr(a *console.Console, name, line string) {
	a.Verbosef("%s: %s", name, console.Printable(line))
}

// findHost returns the host named name. If no host has that name, it returns the first host whose
// section of the manifest has it.
func findHost(a *console.Console, name string) (host.Config, *engine.Program, error) {
	p, configs, err := hostConfigs(a, "")
	if err != nil {
		return host.Config{}, nil, err
	}
	var names []string
	for _, c := range configs {
		if c.Name == name {
			return c, p, nil
		}
		names = append(names, c.Name)
	}
	for _, c := range configs {
		if c.Connector == name {
			return c, p, nil
		}
	}
	hint := "the program declares no host; to test a command: `concerto host test -- " + name + "`"
	if near := suggest.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(names) > 0 {
		hint = "the program declares " + strings.Join(names, ", ")
	}
	return host.Config{}, nil, console.Usage(hint, "unknown host %q", name)
}

func (cmd *testCommand) run(parent context.Context, o hostcheck.Options) (failed error) {
	record, end, err := program.RecordHost(cmd.console, cmd.wire, cmd.program, &o.Config)
	if err != nil {
		return err
	}
	defer func() { failed = end(failed) }()
	o.Wire = record
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	<-signals.Ready
	report := struct {
		Host   string              `json:"host"`
		Checks []hostcheck.Verdict `json:"checks"`
		hostcheck.Sum
	}{Host: o.Config.Name, Checks: []hostcheck.Verdict{}}
	err = hostcheck.Run(ctx, o, func(v hostcheck.Verdict) {
		report.Checks = append(report.Checks, v)
		report.Add(v)
		if cmd.format.IsText() {
			_, err := fmt.Fprint(cmd.console.Stdout, console.Printable(v.Text()))
			failed = errors.Join(failed, err)
		}
		if v.Why != "" {
			cmd.console.Verbosef("skipped %s: %s", v.Check, console.Printable(v.Why))
		}
	})
	switch {
	case err != nil:
		return err
	case !cmd.format.IsText():
		failed = cmd.console.WriteJSON(report)
	default:
		_, err := fmt.Fprint(cmd.console.Stdout, report.Sum.Text())
		failed = errors.Join(failed, err)
	}
	if failed == nil && report.Failed > 0 {
		return console.ExitError(console.ExitFailed)
	}
	return failed
}
