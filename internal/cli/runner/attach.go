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

// runDebugged runs a program under a debugger. The program waits before its first line until a
// debugger attaches. Further debuggers may attach later.
func (cmd *runCommand) runDebugged(s driver.Request, signals *interrupt.Handler, run func() error) error {
	switch {
	case cmd.watch:
		return console.Usage("leave one of them out", "--debug and --watch cannot be used together")
	case filepath.Ext(s.Path) == driver.IRExt || s.Inline != nil:
		return console.Usage("name the source file or the project", "--debug requires a program with source files")
	}
	l, err := net.Listen("tcp", cmd.debug)
	if err != nil {
		return console.Usage("write --debug <host>:<port>; port 0 selects a free port", "listen on %s: %v", cmd.debug, err)
	}
	defer func() { _ = l.Close() }()
	s.Mock = cmd.Mock
	cmd.console.Debugging.Debugger = dap.Attachable(s)
	interrupt.FollowDebugger(cmd.console, signals)
	fmt.Fprintf(cmd.console.Stderr, "concerto: waiting for a debugger on %s\n", l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the run has finished
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
