package dap

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/vm"
)

// Run is a program that is being debugged. Its Command sees where output goes and what ends it;
// the VM sees its Debugger.
type Run struct {
	Stdout, Stderr io.Writer
	// Interrupt gets a value where Ctrl-C is meant: the first ends the run, the second kills
	// what takes its time.
	Interrupt chan struct{}

	asking    asking
	s         *session
	loaded    chan struct{} // it stands before main, or has ended
	launched  chan struct{} // the editor has been told so
	over      chan struct{} // it has ended
	lost      chan int      // its exit code, when it cannot be ended
	restarted atomic.Bool   // another has taken its place
	once      struct{ load, end sync.Once }

	debuggee debuggee
}

func newRun(s *session) *Run {
	r := &Run{Stdout: output{s, "stdout"}, Stderr: output{s, "stderr"}, Interrupt: make(chan struct{}, 2), s: s,
		loaded: make(chan struct{}), launched: make(chan struct{}), over: make(chan struct{}), lost: make(chan int, 1)}
	r.debuggee.init()
	return r
}

func (r *Run) load() { r.once.load.Do(func() { close(r.loaded) }) }

// end ends the run as Ctrl-C does, and after a while as a second one.
func (r *Run) end() {
	r.once.end.Do(func() {
		r.Interrupt <- struct{}{}
		go r.leaveEnded()
		go func() {
			t := time.NewTimer(grace)
			defer t.Stop()
			select {
			case <-r.over:
			case <-t.C:
				r.Interrupt <- struct{}{}
			}
		}()
	})
}

// Lost says that the launched run cannot be ended: the process is about to, with an exit code. Whoever debugs it hears of
// the end before, and has a while to leave.
func (r *Run) Lost(code int) {
	r.lost <- code
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-r.s.gone:
	case <-t.C:
	}
}

// leave has the run go on without standing still any more.
func (r *Run) leave() {
	r.do(func() {
		r.debuggee.left = true
		r.debuggee.forget()
		r.debuggee.resume()
	})
}

// leaveEnded is leave for a run that is to end: it goes on once it has heard of that, so that nothing more of the
// program runs.
func (r *Run) leaveEnded() {
	r.do(func() {
		if r.debuggee.vm == nil {
			return
		}
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-r.debuggee.vm.Ended():
		case <-t.C:
		}
	})
	r.leave()
}

// output is a stream of the run, as events.
type output struct {
	s        *session
	category string
}

// Write sends p to the editor. It blocks while the editor does not read.
func (o output) Write(p []byte) (int, error) {
	o.s.print(o.category, string(p))
	return len(p), nil
}

// print shows a text that may be one of very many. It blocks while the editor does not read, until
// the editor ends the session or the run.
func (s *session) print(category, text string) {
	if s.out != nil {
		s.out.WaitRoom(s.ending)
	}
	s.say(category, text)
}

// say shows a text to whoever debugs.
func (s *session) say(category, text string) {
	s.send(&dap.OutputEvent{Event: event("output"), Body: dap.OutputEventBody{Category: category, Output: text}})
}

// Launched reports whether an editor has launched the run; else it has come to one that was there.
func (r *Run) Launched() bool { return r.s.launched }

var _ vm.Debugger = (*Run)(nil)
