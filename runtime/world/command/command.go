// Package command performs effect.Command: it runs the commands of the program's tool RunCommand.
package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// maxOutput is the maximum number of bytes that are stored of each of a command's outputs.
const maxOutput = 256 << 10

// grace is the time between SIGTERM and SIGKILL after a command has exceeded its time limit.
const grace = time.Second

// Options configures a Runner.
type Options struct {
	Environ []string       // environment of the run, as "NAME=value"
	Run     *procgroup.Run // owns the processes; may be nil
	// Pass lists the variables that commands receive in addition to those that every process
	// receives. It does not pass those in Keys, which contain keys of services.
	Pass  []string
	Keys  map[string]bool
	Dir   string               // working directory of the commands; "" means that of this process
	Clock *clock.PausableClock // clock of the commands' time limits; nil means the system's clock
}

// Runner performs effect.Command. It is safe for concurrent use.
type Runner struct {
	environ []string
	dir     string
	run     *procgroup.Run
	clock   *clock.PausableClock
}

// New returns a Runner.
func New(o Options) *Runner {
	r := &Runner{dir: o.Dir, run: o.Run, clock: o.Clock}
	pass := slices.DeleteFunc(slices.Clone(o.Pass), func(name string) bool { return o.Keys[name] })
	r.environ, _ = procgroup.Inherit{Pass: pass, Keys: o.Keys}.Of(o.Environ)
	return r
}

func commandError(format string, args ...any) error {
	return effect.Errorf("ToolError", format, args...).With("tool", "RunCommand")
}

// Perform runs a command. It returns when the command and all processes that it has started have
// exited.
func (r *Runner) Perform(ctx context.Context, q effect.Request) (effect.Result, error) {
	c, ok := q.(*effect.Command)
	if !ok {
		return nil, &effect.UnperformedError{Who: "commands", Kind: q.Kind()}
	}
	path, err := procgroup.Find(c.Command, r.dir, r.environ)
	if err != nil {
		return nil, commandError("cannot run %s: %s", c.Command, procgroup.WhyNot(err))
	}
	stderr := &boundedBuffer{}
	p, err := r.run.Start(procgroup.Command{Path: path, Args: c.Args, Env: effect.TraceEnviron(r.environ, effect.TraceHeaders(ctx)), Dir: r.dir, Grace: grace,
		Stderr: func(line []byte) {
			stderr.Write(line)
			stderr.Write([]byte{'\n'})
		}})
	if err != nil {
		return nil, commandError("cannot run %s: %s", c.Command, procgroup.WhyNot(err))
	}
	p.Stdin.Close()
	stdout := &boundedBuffer{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		// Copying ends when the process exits. A read error ends the output early.
		_, _ = io.Copy(stdout, p.Stdout)
	}()
	late := make(chan struct{})
	limit := r.clock.AfterFunc(min(time.Duration(c.Timeout), 1<<62/time.Millisecond)*time.Millisecond, func() { close(late) })
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-late:
		err = commandError("%s did not finish within %d ms", c.Command, c.Timeout)
		p.End(grace, nil)
	case <-ctx.Done():
		err = context.Cause(ctx)
		p.End(grace, nil)
	}
	<-p.GroupDone()
	<-read
	if err != nil {
		return nil, err
	}
	return &effect.CommandOutput{ExitCode: int64(p.Exit().Code), Stdout: stdout.String(), Stderr: stderr.String()}, nil
}

// boundedBuffer stores the beginning of an output and counts the rest.
type boundedBuffer struct {
	text []byte
	more int
}

func (k *boundedBuffer) Write(b []byte) (int, error) {
	n := min(len(b), maxOutput-len(k.text))
	k.text = append(k.text, b[:n]...)
	k.more += len(b) - n
	return len(b), nil
}

// String returns the stored output and the number of dropped bytes. It replaces bytes that are not
// valid UTF-8 by U+FFFD.
func (k *boundedBuffer) String() string {
	s := strings.ToValidUTF8(string(k.text), "\ufffd")
	if k.more > 0 {
		s += fmt.Sprintf("\n… (%d more bytes)", k.more)
	}
	return s
}
