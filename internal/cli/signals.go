package cli

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

// interrupts turns signals into the end of a run.
type interrupts struct {
	signals chan os.Signal
	pipe    chan os.Signal
	ready   chan struct{} // signals are caught from now on
	done    chan struct{} // the run is over
	kill    chan struct{} // the second signal has come
	cancel  context.CancelCauseFunc
	leaving atomic.Pointer[func()] // what to do before the process is left
	lost    atomic.Pointer[func()] // whom to tell of that, after it
	takes   func(os.Signal) bool   // whether somebody else takes a signal, which then ends nothing; nil: nobody
}

// catch gives a context that ends with errInterrupted at the first Ctrl-C (or
// SIGTERM, SIGHUP). The second one closes kill: from then on nothing is waited
// for.
//
// SIGPIPE is caught and ignored. So a reader that goes away shows as a failed
// write, which ends the run and its hosts in order; the signal would kill the
// process.
//
// To catch a signal takes the Go runtime two switches of threads, so this is
// done while the program is compiled. Wait for ready before starting anything
// that a signal has to end.
func catch(parent context.Context) (context.Context, *interrupts) { return catchBut(parent, nil) }

// ignoresHangup reports whether the command was started to outlive its terminal, as nohup does.
var ignoresHangup = signal.Ignored(syscall.SIGHUP)

// catchBut does so for the signals that nobody else takes.
func catchBut(parent context.Context, takes func(os.Signal) bool) (context.Context, *interrupts) {
	if parent == nil { // a command that was not executed with one
		parent = context.Background()
	}
	ctx, cancel := context.WithCancelCause(parent)
	i := &interrupts{
		signals: make(chan os.Signal, 4), pipe: make(chan os.Signal, 1),
		ready: make(chan struct{}), done: make(chan struct{}), kill: make(chan struct{}), cancel: cancel, takes: takes,
	}
	go i.watch()
	return ctx, i
}

func (i *interrupts) watch() {
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
	close(i.ready)
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
			close(i.kill)
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

// interrupt does what Ctrl-C does.
func (i *interrupts) interrupt() {
	select {
	case i.signals <- os.Interrupt:
	default: // enough of them wait
	}
}

// before sets what is done before a run is left that cannot be ended.
func (i *interrupts) before(f func()) { i.leaving.Store(&f) }

// stop stops catching signals, without waiting for it.
func (i *interrupts) stop() {
	close(i.done)
	i.cancel(nil)
}
