// Package editors has the interactive commands: the language server, the debug adapter and the
// REPL.
package editors

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/editor/dap"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// dapCommand is the command dap with its options.
type dapCommand struct {
	console *console.Console
	tcp     string
}

func NewDap(a *console.Console) *cobra.Command {
	cmd := dapCommand{console: a}
	c := &cobra.Command{
		Use:   "dap",
		Short: "Start the debug adapter for editors",
		Long: `Speaks the Debug Adapter Protocol on stdin and stdout. Editors start it. The launch request accepts
program, cwd, args, env, stopOnEntry, mock, answers {"channel": value}, emitHandler, test (the name
of one test) and showStd (step into the library).

To debug a program that you start yourself, use 'concerto run --debug ADDR'.`,
		Example: `  concerto dap                        serve the editor that started it
  concerto dap --tcp 127.0.0.1:4711   serve editors that connect`,
		Args: console.NoArguments,
		RunE: func(*cobra.Command, []string) error { return cmd.debug() },
	}
	c.Flags().StringVar(&cmd.tcp, "tcp", "", "serve editors that connect to `ADDR`, one at a time")
	return c
}

func (cmd *dapCommand) debug() error {
	adapter := &dap.Adapter{Command: func(l *dap.Launch, r *dap.Run) int { return RunLaunched(cmd.console, l, r) }, Dir: cmd.console.Dir}
	switch {
	case cmd.tcp != "":
		return cmd.listen(adapter)
	case cmd.console.TTY.In:
		return console.Usage("in VS Code, press F5; configure other editors to start `concerto dap`, or wait for one with `concerto dap --tcp 127.0.0.1:4711`",
			"an editor must start `concerto dap`; its stdin is a terminal here")
	}
	return adapter.Serve(cmd.console.Stdin, cmd.console.Stdout)
}

// listen serves the editors that connect, one after the other, until the process exits.
func (cmd *dapCommand) listen(adapter *dap.Adapter) error {
	l, err := net.Listen("tcp", cmd.tcp)
	if err != nil {
		return console.Usage("write --tcp <host>:<port>; port 0 selects a free port", "listen on %s: %v", cmd.tcp, err)
	}
	defer func() { _ = l.Close() }()
	fmt.Fprintf(cmd.console.Stderr, "concerto: waiting for an editor on %s\n", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return fmt.Errorf("wait for an editor: %w", err)
		}
		if err := adapter.Serve(c, c); err != nil {
			cmd.console.Complain(err.Error(), "")
		}
		_ = c.Close()
	}
}

// RunLaunched runs the program that an editor launches in the same way as the command line does.
func RunLaunched(a *console.Console, l *dap.Launch, r *dap.Run) int {
	child := &console.Console{Stdin: strings.NewReader(""), Stdout: r.Stdout, Stderr: r.Stderr, Environ: environWith(a.Environ, l.Env), Binary: a.Binary,
		Dir: a.Abs(l.Cwd), Debugging: console.Debugging{Debugger: r, Answers: launchAnswers(l)}}
	return child.Binary.Execute(launchArgs(l), child)
}

// launchArgs returns the command's arguments for an editor's launch request.
func launchArgs(l *dap.Launch) []string {
	program := l.Program
	if strings.HasPrefix(program, "-") {
		program = "." + string(filepath.Separator) + program
	}
	if l.Test != "" {
		return []string{"test", "--parallel=1", "--timeout=-1", "-v", "--filter=^(" + regexp.QuoteMeta(l.Test) + ")$", program}
	}
	args := []string{"run", program}
	if l.Mock {
		args = append(args, "--mock")
	}
	if l.EmitHandler != "" {
		args = append(args, "--emit-handler="+l.EmitHandler)
	}
	return append(append(args, "--"), l.Args...)
}

// launchAnswers returns the answers in an editor's launch request. A text is converted to the type
// that the program requires, as with --answer; any other value is used unchanged.
func launchAnswers(l *dap.Launch) (all []emit.Fixed) {
	for _, channel := range slices.Sorted(maps.Keys(l.Answers)) {
		a := emit.Fixed{Channel: channel, JSON: l.Answers[channel]}
		if text := ""; json.Unmarshal(a.JSON, &text) == nil && string(a.JSON) != "null" {
			a.Value, a.JSON = text, nil
		}
		all = append(all, a)
	}
	return all
}

// environWith returns environ with the variables of set added or replaced. A null value removes a
// variable.
func environWith(environ []string, set map[string]any) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(x string) bool {
		name, _, _ := strings.Cut(x, "=")
		_, listed := set[name]
		return listed
	})
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] != nil {
			out = append(out, name+"="+fmt.Sprint(set[name]))
		}
	}
	return out
}
