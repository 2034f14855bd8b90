package emit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// Maximum times for a handler to close its output after its input was closed, and to exit after its
// output was closed.
const (
	leaveTime   = 200 * time.Millisecond
	exitSettles = time.Second
)

// handler answers awaited emits with the subprocess of --emit-handler. For each emit, the process
// receives a line {"channel":…,"payload":…} and answers with a line {"value":…} or {"error":"…"},
// in the same order. The process is started for the first emit, and again after it has exited.
type handler struct {
	command   string
	dir       string
	environ   []string
	processes *procgroup.Run
	log       func(string)
	turn      chan struct{} // lock of capacity one; its holder writes to the process

	mu     sync.Mutex
	run    *handlerRun // current process; nil before the first start and after each exit
	closed bool
	ending sync.WaitGroup
}

// handlerRun is one process of the handler. handler.mu protects all fields except proc.
type handlerRun struct {
	proc     *procgroup.Process
	waiting  []*ask // requests without an answer, in the order of their lines
	answered bool   // the process has sent at least one answer
	put      int64  // number of bytes of all lines for the process
	sent     int64  // number of bytes that the pipe has accepted
}

// ask is a pending awaited emit.
type ask struct {
	line   []byte
	start  int64      // offset of the request's line in all lines for the process
	got    chan reply // receives the outcome; has capacity one
	gaveUp bool       // the caller no longer waits; protected by handler.mu
}

// reply is the outcome of an awaited emit.
type reply struct {
	value json.RawMessage
	err   error  // error of the answer or of the process; nil with a value
	why   string // value of the field reason of the EmitError; set with err
}

func newHandler(o *Options) *handler {
	h := &handler{command: o.Handler, dir: o.HandlerDir, environ: o.Environ, processes: o.Run, log: o.Log, turn: make(chan struct{}, 1)}
	h.turn <- struct{}{}
	return h
}

// answer sends the emit to the process and waits for the answer. If ctx ends first, the answer is
// dropped when it arrives.
func (h *handler) answer(ctx context.Context, r *effect.AwaitEmit, _ string) (*effect.Answer, error) {
	select {
	case <-h.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	a := &ask{line: jsonEmit(nil, r.Channel, r.Payload), got: make(chan reply, 1)}
	if err := h.sendEmits(a); err != nil {
		return nil, emitError(r.Channel, noListener, "could not start emit handler `%s`: %v", h.command, err)
	}
	select {
	case got := <-a.got:
		if got.err != nil {
			return nil, emitError(r.Channel, got.why, "%v", got.err)
		}
		return &effect.Answer{Value: got.value, By: effect.ByCommand}, nil
	case <-ctx.Done():
		h.mu.Lock()
		a.gaveUp = true
		h.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// sendEmits adds the requests to those that wait for an answer, and begins to write their lines.
// The caller holds the turn, which is released after all lines are written. A handler that does not
// read therefore delays the next line, but not a caller whose context ends.
func (h *handler) sendEmits(all ...*ask) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	run, err := h.process()
	if err != nil {
		h.turn <- struct{}{}
		return err
	}
	var lines []byte
	for _, a := range all {
		a.start = run.put
		run.put += int64(len(a.line))
		run.waiting = append(run.waiting, a)
		lines = append(lines, a.line...)
	}
	h.ending.Add(1)
	go func() {
		defer h.ending.Done()
		// If the write fails, the process is exiting, and readAnswers reports that.
		n, _ := run.proc.Stdin.Write(lines)
		h.mu.Lock()
		run.sent += int64(n)
		h.mu.Unlock()
		h.turn <- struct{}{}
	}()
	return nil
}

// process returns the running process, or starts one.
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
	p, err := h.processes.Start(procgroup.Command{
		Name: "emit-handler", Path: sh, Args: []string{"-c", h.command}, Env: h.environ, Dir: h.dir,
		Stderr: func(line []byte) {
			if h.log != nil {
				h.log(string(line))
			}
		},
	})
	if err != nil {
		return nil, err
	}
	run := &handlerRun{proc: p}
	h.run = run
	h.ending.Add(1)
	go func() {
		defer h.ending.Done()
		h.readAnswers(run)
	}()
	return run, nil
}

// readAnswers distributes the answers until the process exits.
func (h *handler) readAnswers(run *handlerRun) {
	lines := ndjson.NewReader(run.proc.Stdout, 0)
	var end error
	for end == nil {
		l, err := lines.NextLine()
		if err != nil {
			end = err
			break
		}
		got := h.parseAnswer(l.Text)
		h.mu.Lock()
		if len(run.waiting) > 0 {
			run.waiting[0].got <- got
			run.waiting = run.waiting[1:]
			run.answered = true
		} else {
			end = fmt.Errorf("it sent a line without a request: %.200s", l.Text)
		}
		h.mu.Unlock()
	}
	why := h.whyEnded(run.proc, end)
	run.proc.End(procgroup.DefaultGrace, nil)
	<-h.turn // waits until no write is in progress
	left, restart := h.leftOver(run, errors.Is(end, io.EOF))
	run.proc.Stdin.Close()
	if restart && h.sendEmits(left...) == nil {
		return
	}
	if !restart {
		h.turn <- struct{}{}
	}
	for _, a := range left {
		a.got <- reply{err: why, why: noListener}
	}
}

// leftOver removes and returns the requests that wait for a process that has exited. again means
// that they should be sent to a new process, because the exited process answered earlier requests
// and read none of these. A handler that answers one emit and exits behaves like that.
func (h *handler) leftOver(run *handlerRun, exited bool) (left []*ask, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run == run {
		h.run = nil
	}
	unread := run.proc.Unread()
	again = exited && run.answered && unread >= 0 && !h.closed &&
		len(run.waiting) > 0 && run.sent-int64(unread) <= run.waiting[0].start
	left = slices.DeleteFunc(run.waiting, func(a *ask) bool { return a.gaveUp })
	run.waiting = nil
	return left, again && len(left) > 0
}

// parseAnswer parses an answer's line.
func (h *handler) parseAnswer(line []byte) reply {
	var a struct {
		Value json.RawMessage `json:"value"`
		Error *string         `json:"error"`
	}
	err := json.Unmarshal(line, &a)
	switch {
	case err == nil && a.Error != nil:
		return reply{err: errors.New(*a.Error), why: refused}
	case err == nil && a.Value != nil:
		if err = schema.CheckAnswer(a.Value, nil); err == nil {
			return reply{value: a.Value}
		}
		return reply{why: refused, err: fmt.Errorf("emit handler %s sent an invalid value: %w", "`"+h.command+"`", err)}
	}
	return reply{why: refused, err: fmt.Errorf(`emit handler %s must answer {"value":…} or {"error":"…"}, but answered: %.200s`, "`"+h.command+"`", line)}
}

// whyEnded returns the error for the requests that wait for an answer of an exited process.
func (h *handler) whyEnded(p *procgroup.Process, end error) error {
	msg := "the emit handler `" + h.command + "` "
	if !errors.Is(end, io.EOF) {
		return fmt.Errorf("%sreturned an invalid answer: %w", msg, end)
	}
	t := time.NewTimer(exitSettles)
	defer t.Stop()
	select {
	case <-p.Done():
		e := p.Exit()
		msg += fmt.Sprintf("exited without an answer (exit code %d)", e.Code)
		if last := e.Stderr[strings.LastIndexByte(e.Stderr, '\n')+1:]; last != "" {
			msg += ": " + last
		}
	case <-t.C:
		msg += "closed its output without an answer"
	}
	return errors.New(msg)
}

// closeProcess ends the handler's process. It closes the process's input and later sends signals.
func (h *handler) closeProcess(ctx context.Context) {
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
