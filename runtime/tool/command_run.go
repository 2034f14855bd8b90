package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
)

const (
	// commandGrace is the time between SIGTERM and SIGKILL for a command.
	commandGrace = 2 * time.Second
	// leftGrace is the time between SIGTERM and SIGKILL for processes that a command has started
	// and left running.
	leftGrace = 100 * time.Millisecond
	// stderrLimit is the maximum number of bytes of standard error that are stored, counted from
	// the end.
	stderrLimit = 64 << 10
)

// runCommand runs the command for one call.
func (x *command) runCommand(ctx context.Context, input json.RawMessage, c *Context) (Result, error) {
	line, err := handlerMessage(input, c)
	if err != nil {
		return Result{}, err
	}
	how, err := x.startCommand(c, c.Environment)
	if err != nil {
		return Result{}, err
	}
	how.Env = effect.TraceEnviron(how.Env, effect.TraceHeaders(ctx))
	log := x.stderr(c.world())
	defer log.End()
	how.Stderr = log.LogLine
	p, err := c.world().commandRun().Start(how)
	if err != nil {
		return Result{}, fmt.Errorf("cannot run %s: %s", x.Run[0], procgroup.WhyNot(err))
	}
	out := &output{most: x.MaxOutput, over: p.Kill}
	runProcess(ctx, p, append(line, '\n'), out)
	switch e := p.Exit(); {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case out.crossed:
		return Failure("%s", tooMuch(x.MaxOutput)), nil
	case e.Limit != "":
		return Failure("%s", x.exitText(e)), nil
	case e.Code != 0:
		return x.failureResult(e, out.text), nil
	}
	return readAnswer(x.Answer, out.text), nil
}

// stderr returns a writer that logs the command's standard error.
func (x *command) stderr(w *World) *stderrlog.Lines {
	return &stderrlog.Lines{Log: func(line string) {
		if w.Stderr != nil {
			w.Stderr(x.name, line)
		}
	}}
}

// runProcess writes the input to a process, copies its output to out, and returns when all
// processes of its group have exited. It ends the process when ctx ends.
func runProcess(ctx context.Context, p *procgroup.Process, input []byte, out io.Writer) {
	written, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		_, _ = p.Stdin.Write(input) // an error means that the process does not read its input
		_ = p.Stdin.Close()
	}()
	go func() {
		defer close(read)
		_, _ = io.Copy(out, p.Stdout) // returns when the process has exited
	}()
	select {
	case <-p.Done():
		endRest(ctx, p)
	case <-ctx.Done():
		p.End(commandGrace, nil)
	}
	_ = p.Stdin.Close() // a child may hold the other end without reading
	<-read
	<-written
}

// endRest ends the remaining processes of a group after procgroup has sent SIGTERM.
func endRest(ctx context.Context, p *procgroup.Process) {
	t := time.NewTimer(leftGrace)
	defer t.Stop()
	select {
	case <-p.GroupDone():
		return
	case <-t.C:
	case <-ctx.Done():
	}
	p.Kill()
	<-p.GroupDone()
}

// failureResult returns the result of a command that failed. If the command has printed a Result,
// that is the result.
func (x *command) failureResult(e procgroup.Exit, stdout []byte) Result {
	why := x.exitText(e)
	if r, ok := readResult(stdout); ok && x.Answer != AnswerText {
		if r.Success || r.Error == "" {
			r.Success, r.Error = false, why
		}
		return r
	}
	return Result{Error: why}
}

// output stores the output of a process up to a limit.
type output struct {
	text    []byte
	most    int
	crossed bool
	over    func() // called once, when the limit is exceeded
}

// Write stores the bytes that fit and drops the rest.
func (o *output) Write(b []byte) (int, error) {
	room := o.most - len(o.text)
	o.text = append(o.text, b[:min(len(b), room)]...)
	if len(b) > room && !o.crossed {
		o.crossed = true
		o.over()
	}
	return len(b), nil
}
