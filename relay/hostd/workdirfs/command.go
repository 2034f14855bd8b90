package workdirfs

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// output is the output and exit of a program.
type output struct {
	stdout    []byte
	truncated bool // the program exceeded the limit and was stopped
	exit      procgroup.Exit
}

// run runs a program in the scope's directory. The environment is the standard inherited one and
// env. run kills the program and its child processes when ctx is done, or when the output exceeds
// most bytes.
func (s *Scope) run(ctx context.Context, most int, env []string, name string, args ...string) (*output, error) {
	environ, _ := procgroup.Inherit{}.Of(os.Environ())
	environ = append(environ, env...)
	path, err := procgroup.Find(name, s.dir, environ)
	if err != nil {
		return nil, errorf(protocol.MissingDependency, "%s is not installed on the machine: install %s", name, packageOf(name))
	}
	p, err := procgroup.Start(procgroup.Command{Path: path, Args: args, Env: environ, Dir: s.dir})
	if err != nil {
		return nil, err
	}
	_ = p.Stdin.Close() // the program's input is empty
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	out := &output{}
	for b := make([]byte, 32<<10); ; {
		n, err := p.Stdout.Read(b)
		if room := most - len(out.stdout); n > room {
			n, out.truncated = room, true
			p.Kill()
		}
		out.stdout = append(out.stdout, b[:n]...)
		if err != nil || out.truncated {
			break
		}
	}
	p.End(0, nil)
	out.exit = p.Exit()
	out.stdout, _ = trimText(out.stdout, false, out.truncated)
	out.stdout = bytes.ToValidUTF8(out.stdout, []byte("\ufffd"))
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		out.truncated = true
	} else if err != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// packageOf returns the name of the package that contains a program, for error messages.
func packageOf(name string) string {
	if name == "rg" {
		return "ripgrep"
	}
	return name
}
