package editors

import (
	"context"
	"os"
	"sync"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
)

// lineInterrupts handles signals during a session: Ctrl-C cancels the running input, SIGTERM and
// SIGHUP end the session.
type lineInterrupts struct {
	*interrupt.Handler
	mu          sync.Mutex
	running     context.CancelCauseFunc // cancels the running input; nil while no input runs
	endsSession bool                    // the session's input is not a terminal, so Ctrl-C ends the session
}

// catchLines catches signals until Stop is called.
func catchLines(parent context.Context) (context.Context, *lineInterrupts) {
	l := &lineInterrupts{}
	ctx, i := interrupt.CatchExcept(parent, l.handleSignal)
	l.Handler = i
	return ctx, l
}

// handleSignal cancels the running input at Ctrl-C. It reports whether the session continues.
func (l *lineInterrupts) handleSignal(s os.Signal) bool {
	if s != os.Interrupt {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running != nil {
		l.running(console.ErrInterrupted)
	}
	return !l.endsSession
}

// line returns the context of an input that runs until done is called.
func (l *lineInterrupts) line(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.running = cancel
	l.mu.Unlock()
	return ctx, func() {
		l.mu.Lock()
		l.running = nil
		l.mu.Unlock()
		cancel(nil)
	}
}
