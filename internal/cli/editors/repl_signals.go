package editors

import (
	"context"
	"os"
	"sync"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
)

// lineInterrupts turns Ctrl-C into the end of the line that runs, and SIGTERM and SIGHUP into the
// end of the session.
type lineInterrupts struct {
	*interrupt.Handler
	mu      sync.Mutex
	running context.CancelCauseFunc // nil while no line runs
	alone   bool                    // no person types: Ctrl-C ends the session
}

// catchLines catches signals until stop is called.
func catchLines(parent context.Context) (context.Context, *lineInterrupts) {
	l := &lineInterrupts{}
	ctx, i := interrupt.CatchBut(parent, l.takes)
	l.Handler = i
	return ctx, l
}

// takes has Ctrl-C end the line that runs, which is all that it does where somebody is there.
func (l *lineInterrupts) takes(s os.Signal) bool {
	if s != os.Interrupt {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running != nil {
		l.running(console.ErrInterrupted)
	}
	return !l.alone
}

// line is the context of a line that runs until done is called.
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
