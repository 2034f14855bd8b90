// Package interrupt ends a run when Ctrl-C or a similar signal arrives, or when a debugger requests
// it.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Signals contains the signals that end a run.
var Signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// lastChance is how long a run may continue after the second signal.
const lastChance = time.Second

// Handler ends a run when a signal arrives.
type Handler struct {
	signals chan os.Signal
	pipe    chan os.Signal
	Ready   chan struct{} // closed when the handler receives signals
	done    chan struct{} // closed by Stop
	Kill    chan struct{} // closed at the second signal
	cancel  context.CancelCauseFunc
	leaving atomic.Pointer[func()] // function that is called before a forced exit of the process; nil for none
	lost    atomic.Pointer[func()] // called after leaving; informs the debugger's editor; nil for none
	handled func(os.Signal) bool   // reports whether a signal is handled elsewhere and must not cancel the run; may be nil
}

// Catch returns a context that is cancelled with console.ErrInterrupted at the first Ctrl-C,
// SIGTERM or SIGHUP. The second signal closes Kill, after which the run waits for nothing.
//
// Catch also ignores SIGPIPE, which would kill the process. A write to a closed output then fails
// with an error, and the run stops its hosts in order.
//
// The Go runtime needs two thread switches until a signal is caught. Catch does not wait for them,
// so that the program can be compiled in the meantime. Wait for Ready before starting anything that
// a signal must stop.
func Catch(parent context.Context) (context.Context, *Handler) { return CatchExcept(parent, nil) }

// ignoresHangup reports whether the command was started to outlive its terminal, as nohup does.
var ignoresHangup = signal.Ignored(syscall.SIGHUP)

// CatchExcept is Catch, but ignores the signals for which handled returns true.
func CatchExcept(parent context.Context, handled func(os.Signal) bool) (context.Context, *Handler) {
	if parent == nil { // a caller may run a command without a context
		parent = context.Background()
	}
	ctx, cancel := context.WithCancelCause(parent)
	i := &Handler{
		signals: make(chan os.Signal, 4), pipe: make(chan os.Signal, 1),
		Ready: make(chan struct{}), done: make(chan struct{}), Kill: make(chan struct{}), cancel: cancel, handled: handled,
	}
	go i.watch()
	return ctx, i
}

func (i *Handler) watch() {
	for _, s := range Signals {
		if s == syscall.SIGHUP && ignoresHangup { // child processes decide for themselves
			procgroup.Discard(syscall.SIGHUP)
		} else {
			signal.Notify(i.signals, s)
		}
	}
	signal.Notify(i.pipe, syscall.SIGPIPE)
	defer func() {
		signal.Stop(i.signals)
		signal.Stop(i.pipe)
	}()
	close(i.Ready)
	for n := 0; ; {
		select {
		case <-i.done:
			return
		case s := <-i.signals:
			if i.handled != nil && i.handled(s) {
				continue
			}
		}
		switch n++; n {
		case 1:
			i.cancel(console.ErrInterrupted)
		case 2:
			close(i.Kill)
			time.AfterFunc(lastChance, func() {
				for _, f := range []*func(){i.leaving.Load(), i.lost.Load()} {
					if f != nil {
						(*f)()
					}
				}
				os.Exit(console.ExitInterrupted)
			})
		}
	}
}

// Interrupt has the effect of Ctrl-C.
func (i *Handler) Interrupt() {
	select {
	case i.signals <- os.Interrupt:
	default: // the queue already contains enough signals
	}
}

// OnForcedExit sets the function that is called before the process exits although the run has not
// finished.
func (i *Handler) OnForcedExit(f func()) { i.leaving.Store(&f) }

// Stop makes the handler stop catching signals. It does not wait until this has happened.
func (i *Handler) Stop() {
	close(i.done)
	i.cancel(nil)
}
