package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/agents"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// conformCommand is the command host conform with its options.
type conformCommand struct {
	console *console.Console

	transport string
	only      []string
	wire      string
	format    *cmdline.Format
}

func newHostConform(a *console.Console) *cobra.Command {
	cmd := conformCommand{console: a}
	c := &cobra.Command{
		Use:   "conform NAME | PATH",
		Short: "Test a vendor's agent in every scenario",
		Long: `Starts an agent in an empty home and a new repository, with a scripted model, and plays these
scenarios:

` + wrapped(scenarioNames()) + `

NAME is a host that the program declares, or a transport, whose default command is used; PATH is an
agent's program. The agent uses no key, file or network of yours. The result of a scenario is yes,
no, "not offered", or FAIL if it differs from what is known of this agent. Exit code 1 reports a
FAIL, or an agent that does not start.`,
		Example: `  concerto host conform claude-code
  concerto host conform Coder --only once,deny,resume
  concerto host conform ./node_modules/.bin/opencode --wire recordings
  concerto host conform ./my-agent --transport acp`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("`concerto host conform claude-code`, or the path of an agent's program", "host conform requires one agent")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o, err := cmd.find(args[0])
			if err != nil {
				return err
			}
			return cmd.run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&cmd.transport, "transport", "", "use `TRANSPORT`: "+strings.Join(vendors(), ", "))
	c.Flags().StringSliceVar(&cmd.only, "only", nil, "play only the scenarios `CHECKS`, separated by commas")
	c.Flags().StringVar(&cmd.wire, "wire", "", "write a recording of each scenario, and conform.json, to `DIR`")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

func scenarioNames() (names []string) {
	for _, s := range agents.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// vendors returns the transports of vendors' agents.
func vendors() []string {
	return slices.DeleteFunc(host.Transports(), func(t string) bool { return adapter.Protocols[t] == nil })
}

// find returns the agent that an argument names: a program, a transport, or a host of the program.
func (cmd *conformCommand) find(name string) (*agents.Options, error) {
	o := &agents.Options{Concerto: cmd.console.Binary.Executable, Environ: cmd.console.Environ, Verbose: func(line string) { cmd.console.Verbosef("%s", console.Printable(line)) }}
	for _, s := range cmd.only {
		if err := console.OneOf("--only", s, scenarioNames()); err != nil {
			return nil, err
		}
	}
	if cmd.transport != "" {
		if err := console.OneOf("--transport", cmd.transport, vendors()); err != nil {
			return nil, err
		}
	}
	c := host.Config{Command: name, Transport: cmd.transport, Dir: cmd.console.Dir}
	switch {
	case strings.ContainsAny(name, `/\`):
		c.Command = cmd.console.Abs(name)
	case slices.Contains(vendors(), name):
		c.Command, c.Transport = adapter.Protocols[name].Command, name
	default:
		var err error
		if c, _, err = findHost(cmd.console, name); err != nil {
			return nil, err
		}
		c.Command, c.Transport = host.Program(&c), cmp.Or(cmd.transport, c.Transport)
	}
	table := agents.Table()
	known := slices.IndexFunc(table, func(a agents.Agent) bool {
		return a.Program == strings.TrimSuffix(filepath.Base(c.Command), filepath.Ext(c.Command)) && (c.Transport == "" || c.Transport == a.Transport)
	})
	switch {
	case known >= 0:
		o.Agent = table[known]
	case c.Command == "":
		return nil, console.Usage("pass the path of its program: `concerto host conform ./my-agent --transport acp`", "the transport acp has no default command")
	case !slices.Contains(vendors(), c.Transport):
		return nil, console.Usage("add --transport: "+strings.Join(vendors(), ", "), "%s is not a known agent", name)
	default:
		o.Agent, o.Args = agents.Unknown(c.Transport), c.Args
	}
	found, err := procgroup.Find(c.Command, c.Dir, cmd.console.Environ)
	if err != nil {
		hint := "check the path"
		if o.Agent.Package != "" {
			hint = "install it: `npm install -g " + o.Agent.Package + "`, or pass the path of its program"
		}
		return nil, console.Usage(hint, "%s: %v", c.Command, err)
	}
	if o.Path, err = filepath.Abs(found); err != nil {
		return nil, err
	}
	for key, seconds := range map[string]float64{"init_timeout": c.InitTimeout, "timeout": c.Timeout} {
		if seconds > 0 {
			o.Timeouts += fmt.Sprintf("%s = %v\n", key, seconds)
		}
	}
	return o, nil
}

func (cmd *conformCommand) run(parent context.Context, o *agents.Options) (failed error) {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	<-signals.Ready
	if cmd.wire != "" {
		dir := cmd.console.Abs(cmd.wire)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return console.Usage("", "%s: %v", cmd.wire, console.Cause(err))
		}
		o.Recorded = func(r agents.Recording) {
			failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, r.Scenario+".wire"), []byte(r.Wire), 0o644))
		}
	}
	report, err := o.Conform(ctx, cmd.only, func(r agents.Result) {
		if cmd.format.IsText() {
			_, err := fmt.Fprintln(cmd.console.Stdout, console.Printable(r.Text()))
			failed = errors.Join(failed, err)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if cmd.wire != "" {
		text, _ := json.MarshalIndent(report, "", "  ") // a report can be encoded
		err = os.WriteFile(filepath.Join(cmd.console.Abs(cmd.wire), "conform.json"), append(text, '\n'), 0o644)
	}
	if !cmd.format.IsText() {
		err = errors.Join(err, cmd.console.WriteJSON(report))
	}
	if err == nil && report.Failed() {
		return console.ExitError(console.ExitFailed)
	}
	return err
}
