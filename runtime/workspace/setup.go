package workspace

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// maxOutput is the size of the end of a command's output that is returned, in bytes.
const maxOutput = 64 << 10

// Tail stores the last Most bytes that are written to it. It is safe for concurrent use.
type Tail struct {
	Most int

	mu   sync.Mutex
	text []byte
}

// Write adds bytes. It returns no error.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text = append(t.text, b...); len(t.text) > 2*t.Most {
		t.text = append(t.text[:0], t.text[len(t.text)-t.Most:]...)
	}
	return len(b), nil
}

// String returns the stored bytes as UTF-8 text.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.text)
	if len(s) > t.Most {
		s = s[len(s)-t.Most:]
		s = s[utf8cut.Rest(s):]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// command runs a command in a directory. The output contains standard output and standard error.
// The exit code is that of the command; err is set if it could not be started, or if ctx has ended.
func (s *Store) command(ctx context.Context, dir string, command []string) (exit int, output string, err error) {
	out := Tail{Most: maxOutput}
	exit, err = s.Execute(ctx, dir, command, nil, &out)
	return exit, out.String(), err
}

// Execute runs a command in a directory, with the environment of setup commands and further
// variables. It writes standard output and standard error to out, which must be safe for concurrent
// use. It returns the exit code of the command; err is set if it could not be started, or if ctx
// has ended. The command's process group has then ended, too.
func (s *Store) Execute(ctx context.Context, dir string, command, environ []string, out io.Writer) (exit int, err error) {
	if start := s.place.Start; start != nil {
		return start(ctx, dir, command, environ, out)
	}
	path, err := procgroup.Find(command[0], dir, s.place.CommandEnviron)
	if err != nil {
		return 0, err
	}
	env := slices.Concat(s.place.CommandEnviron, environ)
	p, err := s.place.Processes.Start(procgroup.Command{Name: "workspace", Path: path, Args: command[1:], Env: env, Dir: dir, Merged: true})
	if err != nil {
		return 0, err
	}
	_ = p.Stdin.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(out, p.Stdout) // the output ends when the process exits
	}()
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.End(time.Second, nil)
	}
	<-p.GroupDone()
	<-read
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return p.Exit().Code, nil
}

// setUp runs the commands of [workspace] setup in a new worktree.
func (s *Store) setUp(ctx context.Context, name, dir string) error {
	limited, cancel := context.WithTimeout(ctx, s.SetupTimeout())
	defer cancel()
	for _, command := range s.place.Worktrees.Setup {
		exit, output, err := s.command(limited, dir, command)
		if err == nil && exit == 0 {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		what := fmt.Sprintf("exited with status %d", exit)
		if limited.Err() != nil {
			what = fmt.Sprintf("did not end within %g s (`setup_timeout`)", s.place.Worktrees.SetupTimeout)
		} else if err != nil {
			what = "could not be started: " + err.Error()
		}
		e := errorf(Setup, name, "the setup command %s of the workspace %s %s", strings.Join(command, " "), name, what)
		if last := strings.TrimSpace(output); last != "" {
			e.Message += ":\n" + last
		}
		e.Command, e.Stderr = command, &output
		if err == nil {
			e.ExitCode = &exit
		}
		return e
	}
	return nil
}
