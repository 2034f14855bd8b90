package emit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/internal/ndjson"
	"github.com/concerto-lang/concerto/internal/procgroup"
)

// How long a handler may take to leave by itself once its input has ended, and
// between the end of its output and its exit.
const (
	leaveTime   = 200 * time.Millisecond
	exitSettles = time.Second
)

// handler answers through the subprocess of --emit-handler: a line
// {"channel":…,"payload":…} goes out for each awaited emit, and a line
// {"value":…} or {"error":"…"} comes back for each, in the same order. It is
// started when first needed, and again when it has ended since.
type handler struct {
	command string
	dir     string
	environ []string
	log     func(string)
	turn    chan struct{} // who holds it writes

	mu     sync.Mutex
	run    *handlerRun // nil before the first and after each end
	closed bool
	ending sync.WaitGroup
}

// handlerRun is one process of the handler's.
type handlerRun struct {
	proc    *procgroup.Process
	waiting []chan reply // those whose answers come next, in order; under handler.mu
}

// reply is what an awaited emit gets.
type reply struct {
	value json.RawMessage
	err   error // of the answer's line, or the process's end
	why   string
}

func newHandler(o *Options) *handler {
	h := &handler{command: o.Handler, dir: o.HandlerDir, environ: o.Environ, log: o.Log, turn: make(chan struct{}, 1)}
	h.turn <- struct{}{}
	return h
}

// answer sends the emit and waits for its line. When ctx ends first, the line
// that comes for it later is dropped.
func (h *handler) answer(ctx context.Context, r *effect.AwaitEmit) (json.RawMessage, error) {
	select {
	case <-h.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	got, err := h.send(r)
	if err != nil {
		return nil, failure(r.Channel, noListener, "the emit handler `%s` cannot be started: %v", h.command, err)
	}
	select {
	case a := <-got:
		if a.err != nil {
			return nil, failure(r.Channel, a.why, "%v", a.err)
		}
		return a.value, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send queues for the next answer and writes the line, giving back the turn
// when it is written: a handler that does not read holds up the next line, but
// not who gives up waiting.
func (h *handler) send(r *effect.AwaitEmit) (<-chan reply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	run, err := h.process()
	if err != nil {
		h.turn <- struct{}{}
		return nil, err
	}
	got := make(chan reply, 1)
	run.waiting = append(run.waiting, got)
	line := jsonEmit(nil, r.Channel, r.Payload)
	h.ending.Add(1)
	go func() {
		defer h.ending.Done()
		// A failed write means that the process ends, which its reader tells.
		_, _ = run.proc.Stdin.Write(line)
		h.turn <- struct{}{}
	}()
	return got, nil
}

// process gives the running process, or starts one.
func (h *handler) process() (*handlerRun, error) {
	if h.closed {
		return nil, errors.New("the run has ended")
	}
	if h.run != nil {
		return h.run, nil
	}
	sh, err := procgroup.Find("sh", h.dir, h.environ)
	if err != nil {
		sh = "/bin/sh"
	}
	p, err := procgroup.Start(procgroup.Command{
		Path: sh, Args: []string{"-c", h.command}, Env: h.environ, Dir: h.dir, Stderr: h.log,
	})
	if err != nil {
		return nil, err
	}
	run := &handlerRun{proc: p}
	h.run = run
	h.ending.Add(1)
	go func() {
		defer h.ending.Done()
		h.read(run)
	}()
	return run, nil
}

// read hands out the answers until the process ends.
func (h *handler) read(run *handlerRun) {
	lines := ndjson.NewReader(run.proc.Stdout, 0)
	var end error
	for end == nil {
		l, err := lines.Next()
		if err != nil {
			end = err
			break
		}
		a := h.parse(l.Text)
		h.mu.Lock()
		if len(run.waiting) > 0 {
			run.waiting[0] <- a
			run.waiting = run.waiting[1:]
		} else {
			end = fmt.Errorf("it sent a line that nothing was asked for: %.200s", l.Text)
		}
		h.mu.Unlock()
	}
	why := h.whyEnded(run.proc, end)
	h.mu.Lock()
	if h.run == run {
		h.run = nil
	}
	left := run.waiting
	run.waiting = nil
	h.mu.Unlock()
	for _, w := range left {
		w <- reply{err: why, why: noListener}
	}
	run.proc.End(procgroup.DefaultGrace, nil)
	run.proc.Stdin.Close()
}

// parse reads an answer's line.
func (h *handler) parse(line []byte) reply {
	var a struct {
		Value json.RawMessage `json:"value"`
		Error *string         `json:"error"`
	}
	err := json.Unmarshal(line, &a)
	switch {
	case err == nil && a.Error != nil:
		return reply{err: errors.New(*a.Error), why: refused}
	case err == nil && a.Value != nil:
		return reply{value: a.Value}
	}
	return reply{why: refused, err: fmt.Errorf(`the emit handler %s answered neither {"value":…} nor {"error":"…"}: %.200s`, "`"+h.command+"`", line)}
}

// whyEnded makes the error of those who wait for an answer that will not come.
func (h *handler) whyEnded(p *procgroup.Process, end error) error {
	msg := "the emit handler `" + h.command + "` "
	if !errors.Is(end, io.EOF) {
		return fmt.Errorf("%sis of no use: %w", msg, end)
	}
	t := time.NewTimer(exitSettles)
	defer t.Stop()
	select {
	case <-p.Done():
		e := p.Exit()
		msg += fmt.Sprintf("ended without an answer (exit code %d)", e.Code)
		if last := e.Stderr[strings.LastIndexByte(e.Stderr, '\n')+1:]; last != "" {
			msg += ": " + last
		}
	case <-t.C:
		msg += "closed its output without an answer"
	}
	return errors.New(msg)
}

// close ends the handler's process: its input ends, then it is asked to, then
// made to leave.
func (h *handler) close(ctx context.Context) {
	h.mu.Lock()
	h.closed = true
	run := h.run
	h.mu.Unlock()
	if run != nil {
		run.proc.Stdin.Close()
		t := time.NewTimer(leaveTime)
		select {
		case <-run.proc.Done():
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		run.proc.End(procgroup.DefaultGrace, ctx.Done())
	}
	h.ending.Wait()
}
