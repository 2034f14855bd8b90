// Package interrupt turns Ctrl-C and signals like it, and the wish of a debugger, into the end of a
// run.
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

// lastChance is how long a run may still take after the second signal.
const lastChance = time.Second

// Handler turns signals into the end of a run.
type Handler struct {
	signals chan os.Signal
	pipe    chan os.Signal
	Ready   chan struct{} // signals are caught from now on
	done    chan struct{} // the run has ended
	Kill    chan struct{} // the second signal has come
	cancel  context.CancelCauseFunc
	leaving atomic.Pointer[func()] // what to do before the process is left
	lost    atomic.Pointer[func()] // called afterwards
	takes   func(os.Signal) bool   // reports whether another part handles a signal, which then ends nothing; nil: none does
}

// Catch returns a context that ends with console.ErrInterrupted at the first Ctrl-C (or
// SIGTERM, SIGHUP). The second one closes Kill: from then on nothing is waited
// for.
//
// SIGPIPE is caught and ignored. So a reader that goes away shows as a failed
// write, which ends the run and its hosts in order; the signal would kill the
// process.
//
// To catch a signal takes the Go runtime two switches of threads, so this is
// done while the program is compiled. Wait for Ready before starting anything
// that a signal has to end.
func Catch(parent context.Context) (context.Context, *Handler) { return CatchBut(parent, nil) }

// ignoresHangup reports whether the command was started to outlive its terminal, as nohup does.
var ignoresHangup = signal.Ignored(syscall.SIGHUP)

// CatchBut does so for the signals that takes does not handle.
func CatchBut(parent context.Context, takes func(os.Signal) bool) (context.Context, *Handler) {
	if parent == nil { // a command that was not executed with one
		parent = context.Background()
	}
	ctx, cancel := context.WithCancelCause(parent)
	i := &Handler{
		signals: make(chan os.Signal, 4), pipe: make(chan os.Signal, 1),
		Ready: make(chan struct{}), done: make(chan struct{}), Kill: make(chan struct{}), cancel: cancel, takes: takes,
	}
	go i.watch()
	return ctx, i
}

func (i *Handler) watch() {
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	if ignoresHangup { // what we start decides for itself
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
			if i.takes != nil && i.takes(s) {
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
	default: // enough of them wait
	}
}

// Before sets what is done before a run is left that cannot be ended.
func (i *Handler) Before(f func()) { i.leaving.Store(&f) }

// Stop stops catching signals, without waiting for it.
func (i *Handler) Stop() {
	close(i.done)
	i.cancel(nil)
}
