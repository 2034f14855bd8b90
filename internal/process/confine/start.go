package confine

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// Start starts a process of a run in a sandbox. The machine must be able to enforce the
// confinement (see Check). blocked is called, from any goroutine, with each address that the proxy
// refuses, once for each address; nil for none. The process's own directory for temporary files and
// its proxy end with its group. c.Stderr and c.Errors are not called if Start fails, and may wait
// until it has returned.
func Start(run *procgroup.Run, c procgroup.Command, s *sandbox.Confinement, blocked func(address string)) (*procgroup.Process, error) {
	if s == nil {
		return run.Start(c)
	}
	own := *s
	var cleanups []func()
	cleanup := func() {
		for _, f := range slices.Backward(cleanups) {
			f()
		}
	}
	if own.PrivateTemp {
		dir, remove, err := makeTemp(c.Env)
		if err != nil {
			return nil, &sandbox.Error{Text: fmt.Sprintf("cannot create its directory for temporary files: %v", err)}
		}
		cleanups = append(cleanups, remove)
		c.Env = append(slices.DeleteFunc(slices.Clone(c.Env), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") }), "TMPDIR="+dir)
		own.Write = append(slices.Clone(own.Write), dir)
	}
	if run == nil || run.Executable == "" {
		c.Limits = procgroup.Stricter(c.Limits, own.Limits)
		c.Cleanup = cleanup
		p, err := run.Start(c)
		if err != nil {
			cleanup()
		}
		return p, err
	}
	plan := planOf(&c, &own)
	plan.Hide, plan.Devices, plan.Loopback, plan.Proxy, plan.Reports = own.Hidden, own.Devices, own.Loopback, own.Proxy != nil, true
	c.Isolated, c.PrivateMounts = own.Offline, own.Hidden
	c.SetsUp = plan.Hide || plan.Loopback
	plan.Strip = c.SetsUp
	c.Limits = procgroup.Stricter(c.Limits, own.Limits)
	c.Path, c.Args = run.Executable, plan.Command()
	x, err := newReport()
	if err != nil {
		cleanup()
		return nil, err
	}
	defer x.close()
	var proxy *proxy
	if own.Proxy != nil {
		if proxy, err = newProxy(own.Proxy, blocked); err != nil {
			cleanup()
			return nil, err
		}
		cleanups = append(cleanups, proxy.close)
	}
	g := holdBack(&c)
	c.Files, c.Cleanup = []*os.File{x.theirs}, cleanup
	p, err := run.Start(c)
	if err != nil {
		cleanup()
		return nil, err
	}
	x.closeTheirs()
	listener, problem, err := x.read()
	if listener != nil {
		defer listener.Close() // the proxy has a copy
	}
	switch {
	case err != nil:
	case problem != "":
		err = &sandbox.Error{Text: problem}
	case listener != nil && proxy != nil:
		err = proxy.serve(listener)
	case proxy != nil:
		err = &sandbox.Error{Text: "it exited before its network was set up"}
	}
	g.executed = err == nil
	close(g.decided)
	if err != nil {
		p.Kill()
		waitAndClose(p)
		return nil, err
	}
	return p, nil
}

// waitAndClose waits until a process has exited, and closes its input and output.
func waitAndClose(p *procgroup.Process) {
	_ = p.Stdin.Close()
	<-p.GroupDone()
	_, _ = io.Copy(io.Discard, p.Stdout) // is closed at its end
}

// gate holds standard error back until it is decided whether the process has executed its command.
type gate struct {
	decided  chan struct{}
	executed bool
}

// holdBack makes the standard error of a command wait for the decision about the gate.
func holdBack(c *procgroup.Command) *gate {
	g := &gate{decided: make(chan struct{})}
	c.Stderr, c.Errors = passAfter(g, c.Stderr), passAfter(g, c.Errors)
	return g
}

// passAfter returns a callback that waits for the decision and calls f only if the command was
// executed: otherwise Start returns the text as its error, and f may wait for Start.
func passAfter[T any](g *gate, f func(T)) func(T) {
	if f == nil {
		return nil
	}
	return func(v T) {
		if <-g.decided; g.executed {
			f(v)
		}
	}
}
