// Package runs implements the commands that start, follow and answer runs.
package runs

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/socket"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// NewRun returns the command run.
func NewRun(a *console.Console) *cobra.Command {
	var r connect.Target
	var s agentRun
	var detach bool
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "run [flags] -- CMD…",
		Short: "Start a run under hostd, and attach to it",
		Long: `Starts a command on a terminal that hostd owns, and shows it here. The run continues when you close
this terminal, and can be followed, answered and approved from other devices. A single argument
is a line for the shell; several are a command and its arguments. Ctrl-] d detaches. The exit code
is the run's.

With --ndjson or --acp the command has no terminal: it speaks Concerto's host protocol or the Agent
Client Protocol. Its questions and approvals are requests, as those of a terminal are.`,
		Example: `  concerto-relay run -- claude
  concerto-relay run --title "release" -- make release
  concerto-relay run --detach -- 'make && make test'    print the run's id
  concerto-relay run --ndjson -- python3 host.py
  concerto-relay run --acp --prompt "fix the tests" -- opencode acp`,
		Args: console.ArgsBetween(1, 1<<20, "concerto-relay run -- claude"),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := connect.EndpointOf(a, &r)
			if err != nil {
				return err
			}
			if s.tool == "" {
				s.tool = console.ToolOf(args)
			}
			var made protocol.StartRunResult
			switch {
			case s.ndjson && s.acp:
				return console.Usage("use one of them", "--ndjson and --acp exclude each other")
			case s.ndjson || s.acp:
				made.RunID, err = s.start(a, e, args)
			case s.prompt != "":
				return console.Usage("type the prompt into the run, or add --ndjson or --acp", "--prompt requires a run without a terminal")
			default:
				cols, rows := a.Terminal().Size()
				cwd := a.Dir
				err = e.Call(ctxOf(c), http.MethodPost, "/runs", socket.StartRequest{Tool: s.tool, Cmd: console.ShellLine(args), Cwd: &cwd, Title: s.title, Cols: cols, Rows: rows}, &made)
			}
			if err != nil {
				return err
			}
			switch {
			case detach && !format.IsText():
				return a.PrintJSON(made)
			case detach:
				_, err := fmt.Fprintln(a.Stdout, made.RunID)
				return err
			}
			x := &attachment{Console: a, run: made.RunID, asJSON: !format.IsText()}
			return x.attach(ctxOf(c), e, true)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // flags after the command belong to the command
	f.StringVar(&s.tool, "tool", "", "record `NAME` as the tool (default: the command's name)")
	f.StringVar(&s.title, "title", "", "set the title of the run to `TEXT`")
	f.BoolVar(&s.ndjson, "ndjson", false, "the command speaks Concerto's host protocol")
	f.BoolVar(&s.acp, "acp", false, "the command speaks the Agent Client Protocol")
	f.StringVar(&s.prompt, "prompt", "", "send `TEXT` as the prompt to an NDJSON host or ACP agent")
	f.BoolVar(&detach, "detach", false, "print the run's id instead of attaching")
	format = cmdline.AddFormat(c, "text", "ndjson")
	connect.TargetFlags(a, c, &r, false)
	return c
}

func ctxOf(c *cobra.Command) context.Context {
	if ctx := c.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}
