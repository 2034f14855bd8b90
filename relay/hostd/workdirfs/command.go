package workdirfs

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// ran is what a program has said.
type ran struct {
	stdout    []byte
	truncated bool // it said more, and was ended
	exit      procgroup.Exit
}

// run runs a program in the scope's directory and ends it with all that it has started, at
// ctx's end and when it has said most bytes. Of the environment it gets what every process gets, and env.
func (s *Scope) run(ctx context.Context, most int, env []string, name string, args ...string) (*ran, error) {
	environ, _ := procgroup.Inherit{}.Of(os.Environ())
	environ = append(environ, env...)
	path, err := procgroup.Find(name, s.dir, environ)
	if err != nil {
		return nil, refused(protocol.MissingDependency, "%s is not installed on the host: install %s", name, packageOf(name))
	}
	p, err := procgroup.Start(procgroup.Command{Path: path, Args: args, Env: environ, Dir: s.dir})
	if err != nil {
		return nil, err
	}
	_ = p.Stdin.Close() // it is given nothing
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	out := &ran{}
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
	out.stdout, _ = whole(out.stdout, false, out.truncated)
	out.stdout = bytes.ToValidUTF8(out.stdout, []byte("\ufffd"))
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		out.truncated = true
	} else if err != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// packageOf is what has to be installed for a program.
func packageOf(name string) string {
	if name == "rg" {
		return "ripgrep"
	}
	return name
}
