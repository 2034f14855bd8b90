package dap

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/vm"
)

// Run is a program that is being debugged. The Command that runs it reads Interrupt, and the VM
// uses it as its Debugger.
type Run struct {
	Stdout, Stderr io.Writer
	// Interrupt receives a value instead of Ctrl-C. The first value stops the run and the second
	// one kills it.
	Interrupt chan struct{}

	asking    questionQueue
	s         *session
	loaded    chan struct{} // closed when the run pauses before main or has ended
	launched  chan struct{} // closed when the editor has received the response to its launch
	over      chan struct{} // closed when the run has ended
	lost      chan int      // receives the exit code of a run that cannot be stopped
	restarted atomic.Bool   // another run has replaced this one
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

// end interrupts the run like Ctrl-C. If the run has not ended after grace, it interrupts the run
// again.
func (r *Run) end() {
	r.once.end.Do(func() {
		r.Interrupt <- struct{}{}
		go r.releaseEnding()
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

// Lost notifies the session that the run cannot be stopped and that the process will exit with
// code. It returns when the editor has disconnected, or after grace.
func (r *Run) Lost(code int) {
	r.lost <- code
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-r.s.done:
	case <-t.C:
	}
}

// release removes all breakpoints and continues the run.
func (r *Run) release() {
	r.do(func() {
		r.debuggee.left = true
		r.debuggee.forget()
		r.debuggee.resume()
	})
}

// releaseEnding continues a run that must end. The run receives the interrupt first, so that no
// more of the program runs.
func (r *Run) releaseEnding() {
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
	r.release()
}

// output is a stream of the run. Each write becomes an output event.
type output struct {
	s        *session
	category string
}

// Write sends p to the editor as an output event. It blocks while the editor does not read.
func (o output) Write(p []byte) (int, error) {
	o.s.print(o.category, string(p))
	return len(p), nil
}

// print sends output. It blocks while the editor does not read, until the session or the run ends.
func (s *session) print(category, text string) {
	if s.out != nil {
		s.out.WaitRoom(s.ending)
	}
	s.sendOutput(category, text)
}

// sendOutput sends an output event without blocking.
func (s *session) sendOutput(category, text string) {
	s.send(&dap.OutputEvent{Event: newEvent("output"), Body: dap.OutputEventBody{Category: category, Output: text}})
}

// Launched reports whether an editor launched the run. It is false if an editor attached to the
// run.
func (r *Run) Launched() bool { return r.s.launched }

var _ vm.Debugger = (*Run)(nil)
