package runner

import (
	"fmt"
	"net"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/editor/dap"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// runDebugged runs a program to which editors attach: it waits before its first line until the
// first of them lets it begin.
func (cmd *runCommand) runDebugged(s driver.Request, signals *interrupt.Handler, run func() error) error {
	switch {
	case cmd.watch:
		return console.Usage("leave out one of them", "--debug and --watch contradict each other")
	case filepath.Ext(s.Path) == driver.IRExt || s.Inline != nil:
		return console.Usage("name the source file or the project", "--debug needs a program that is in a file of sources")
	}
	l, err := net.Listen("tcp", cmd.debug)
	if err != nil {
		return console.Usage("--debug takes HOST:PORT; with port 0 one is chosen", "listen on %s: %v", cmd.debug, err)
	}
	defer func() { _ = l.Close() }()
	s.Mock = cmd.Mock
	cmd.console.Debugging.Debugger = dap.Attachable(s)
	interrupt.FollowDebugger(cmd.console, signals)
	fmt.Fprintf(cmd.console.Stderr, "concerto: waits for a debugger on %s\n", l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the run has ended
			}
			if err := (&dap.Adapter{Dir: cmd.console.Dir, Attach: cmd.console.Debugging.Debugger}).Serve(c, c); err != nil {
				cmd.console.Complain(err.Error(), "")
			}
			_ = c.Close()
		}
	}()
	code := console.ExitOK
	if err := run(); err != nil {
		code = cmd.console.Fail(err)
	}
	cmd.console.Debugging.Debugger.ReportEnd(code)
	if code != console.ExitOK {
		return console.ExitError(code)
	}
	return nil
}
