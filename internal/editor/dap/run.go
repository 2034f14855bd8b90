package dap

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/vm"
)

// Run is a program that is being debugged. Its Command uses Interrupt; the VM uses it as its
// Debugger.
type Run struct {
	Stdout, Stderr io.Writer
	// Interrupt receives a value instead of Ctrl-C: the first ends the run, the second kills it.
	Interrupt chan struct{}

	asking    questionQueue
	s         *session
	loaded    chan struct{} // it paused before main or has ended
	launched  chan struct{} // the editor was notified of that
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

// end interrupts the run like Ctrl-C, and after a while like a second one.
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

// Lost reports that the run does not end and the process will exit with a code. The editor is
// notified first and has some time to disconnect.
func (r *Run) Lost(code int) {
	r.lost <- code
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-r.s.done:
	case <-t.C:
	}
}

// release continues the run without further stops.
func (r *Run) release() {
	r.do(func() {
		r.debuggee.left = true
		r.debuggee.forget()
		r.debuggee.resume()
	})
}

// releaseEnding is like leave for a run that must end: it continues after it has received the
// interrupt, so that no more of the program runs.
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

// print sends output that may be frequent. It blocks while the editor does not read, until the
// session or the run ends.
func (s *session) print(category, text string) {
	if s.out != nil {
		s.out.WaitRoom(s.ending)
	}
	s.sendOutput(category, text)
}

// sendOutput sends output to the editor.
func (s *session) sendOutput(category, text string) {
	s.send(&dap.OutputEvent{Event: newEvent("output"), Body: dap.OutputEventBody{Category: category, Output: text}})
}

// Launched reports whether an editor launched the run, rather than attached to it.
func (r *Run) Launched() bool { return r.s.launched }

var _ vm.Debugger = (*Run)(nil)
