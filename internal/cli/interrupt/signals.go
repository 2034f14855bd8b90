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

// lastChance is how long a run may continue after the second signal.
const lastChance = time.Second

// Handler ends a run when a signal arrives.
type Handler struct {
	signals chan os.Signal
	pipe    chan os.Signal
	Ready   chan struct{} // closed when signals are caught
	done    chan struct{} // closed when the run has ended
	Kill    chan struct{} // closed at the second signal
	cancel  context.CancelCauseFunc
	leaving atomic.Pointer[func()] // called before the process exits
	lost    atomic.Pointer[func()] // called after that
	handled func(os.Signal) bool   // reports whether another part handles the signal, so that it does not end the run; nil: none does
}

// Catch returns a context that is cancelled with console.ErrInterrupted at the first Ctrl-C,
// SIGTERM or SIGHUP. The second one closes Kill: from then on the run waits for nothing.
//
// It catches and ignores SIGPIPE, which would kill the process: a closed output then is a failed
// write, which ends the run and its hosts in order.
//
// The Go runtime needs two thread switches to catch a signal, so it happens while the program is
// compiled. Wait for Ready before starting anything that a signal must end.
func Catch(parent context.Context) (context.Context, *Handler) { return CatchExcept(parent, nil) }

// ignoresHangup reports whether the command was started to outlive its terminal, as nohup does.
var ignoresHangup = signal.Ignored(syscall.SIGHUP)

// CatchExcept is Catch for the signals for which handled returns false.
func CatchExcept(parent context.Context, handled func(os.Signal) bool) (context.Context, *Handler) {
	if parent == nil { // a command that was executed without a context
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
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	if ignoresHangup { // child processes decide for themselves
		procgroup.Discard(syscall.SIGHUP)
	} else {
		signal.Notify(i.signals, syscall.SIGHUP)
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

// Interrupt does what Ctrl-C does.
func (i *Handler) Interrupt() {
	select {
	case i.signals <- os.Interrupt:
	default: // enough signals are queued
	}
}

// OnForcedExit sets the function to call before the process exits although the run has not ended.
func (i *Handler) OnForcedExit(f func()) { i.leaving.Store(&f) }

// Stop stops catching signals, without waiting for it.
func (i *Handler) Stop() {
	close(i.done)
	i.cancel(nil)
}
