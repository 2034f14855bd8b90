package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/socket"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func (a *app) runCommand() *cobra.Command {
	var r reach
	var s spoken
	var detach bool
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "run [flags] -- CMD…",
		Short: "Start a run at this machine's hostd, and attach to it",
		Long: `Starts a command on a terminal that hostd keeps, and shows it here. It goes on when this
terminal is closed, and can be seen, answered and approved from anywhere.

  concerto-relay run -- claude
  concerto-relay run --title "release" -- make release
  concerto-relay run --detach -- 'make && make test'    prints the run's id

With --ndjson or --acp it is on no terminal, but speaks in messages: Concerto's protocol of
hosts, or the Agent Client Protocol. What it tells is shown, and what it asks is approved
or answered as a terminal's questions are.

  concerto-relay run --ndjson -- python3 host.py
  concerto-relay run --acp --prompt "mend the tests" -- gemini --experimental-acp

Ctrl-] d detaches; concerto-relay attach RUN comes back. One CMD is a line of the shell,
several are a command and its arguments. The exit code is the run's.`,
		Args: takes(1, 1<<20, "concerto-relay run -- claude"),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := a.reachEnd(&r)
			if err != nil {
				return err
			}
			if s.tool == "" {
				s.tool = toolOf(args)
			}
			var made protocol.RunMade
			switch {
			case s.ndjson && s.acp:
				return usage("a run speaks one of them", "--ndjson and --acp are given")
			case s.ndjson || s.acp:
				made.RunID, err = s.begin(a, e, args)
			case s.prompt != "":
				return usage("type it, or add --ndjson or --acp", "--prompt is for a run that speaks in messages")
			default:
				cols, rows := a.ours().size()
				cwd := a.dir
				err = e.call(ctxOf(c), http.MethodPost, "/runs", socket.StartRequest{Tool: s.tool, Cmd: shellLine(args), Cwd: &cwd, Title: s.title, Cols: cols, Rows: rows}, &made)
			}
			if err != nil {
				return err
			}
			switch {
			case detach && !format.IsText():
				return a.printJSON(made)
			case detach:
				_, err := fmt.Fprintln(a.stdout, made.RunID)
				return err
			}
			return a.attach(ctxOf(c), e, made.RunID, !format.IsText(), true)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.StringVar(&s.tool, "tool", "", "what runs, a `NAME` (default the command's)")
	f.StringVar(&s.title, "title", "", "what it is about, a `TEXT`")
	f.BoolVar(&s.ndjson, "ndjson", false, "it speaks Concerto's protocol of hosts, a line of JSON each message")
	f.BoolVar(&s.acp, "acp", false, "it speaks the Agent Client Protocol")
	f.StringVar(&s.prompt, "prompt", "", "what an NDJSON host or ACP agent is asked to do, a `TEXT`; an agent without one is told by who answers")
	f.BoolVar(&detach, "detach", false, "do not attach: print the run's id")
	format = cmdline.AddFormat(c, "text", "ndjson")
	a.reachFlags(c, &r, false)
	return c
}

func ctxOf(c *cobra.Command) context.Context {
	if ctx := c.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellLine is a command for the shell: one argument as it is, several each as one word.
func shellLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = shellWord(arg)
	}
	return strings.Join(words, " ")
}

// shellWord is a text as one word of the shell.
func shellWord(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// toolOf is the name of what runs.
func toolOf(args []string) string {
	first := args[0]
	if words := strings.Fields(first); len(args) == 1 && len(words) > 0 {
		first = words[0]
	}
	name := filepath.Base(first)
	if !plain.MatchString(name) || len(name) > 64 {
		return "bash"
	}
	return name
}
