package engines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// waiting is a command that waits for the end of a run.
type waiting struct {
	console *console.Console
	run     *locate.Run
	output  *locate.Printer
	park    bool
	noted   string // the last message
}

// waitPoll is the interval at which --wait reads the state of a run.
const waitPoll = 100 * time.Millisecond

// waitFor prints the output of a run, reports what the run waits for, and returns the run's exit
// code as an error. With park it returns when the run waits.
func waitFor(ctx context.Context, a *console.Console, run *locate.Run, form string, park bool) error {
	w := &waiting{console: a, run: run, output: locate.NewPrinter(a, emit.Modes[form], 1, a.PrintEvent), park: park}
	for {
		done, err := w.look(ctx)
		var unreachable *postgres.UnreachableError
		switch {
		case ctx.Err() != nil:
			a.Complain(fmt.Sprintf("detached from run %s, which continues", run.ID), "concerto runs output "+run.ID+" --follow")
			return console.ExitError(console.ExitInterrupted)
		case err != nil && errors.As(run.Engine.Explain(err, locate.Reader), &unreachable):
			w.note(unreachable.Error() + "; retrying")
		case err != nil || done:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(waitPoll):
		}
	}
}

// look prints what has changed since the last call. done is true if the run has ended, or will not
// continue by itself.
func (w *waiting) look(ctx context.Context) (done bool, err error) {
	r, err := w.run.Engine.Show(ctx, w.run.ID)
	if errors.Is(err, journal.ErrNoRun) {
		return true, console.Usage("", "run %s was removed", w.run.ID)
	}
	if err != nil {
		return false, err
	}
	if err := w.output.Write(ctx, w.run); err != nil { // after the state, so that nothing is missing at the end
		return false, err
	}
	switch {
	case r.Exit != nil && *r.Exit == 0:
		return true, nil
	case r.Exit != nil:
		return true, console.ExitError(*r.Exit)
	case r.State == "held" || r.State == "damaged":
		w.console.Complain(fmt.Sprintf("run %s is %s: %s", r.ID, r.State, r.Why), "")
		return true, console.ExitError(console.ExitFailed)
	}
	w.noteState(r)
	if w.park && r.State == "waiting" && !r.Answered {
		return true, console.ExitError(console.ExitWaiting)
	}
	return false, nil
}

// noteState reports what the run waits for.
func (w *waiting) noteState(r *postgres.Row) {
	text := r.Why
	for _, q := range r.Questions {
		if r.State != "waiting" {
			break
		}
		text += fmt.Sprintf("\n  %s %s %s\n  answer with: concerto runs answer %s %s <value>", q.ID, q.Channel, console.PayloadText(q.Channel, q.Payload, w.console.TTY.Err), r.ID, q.ID)
	}
	if text != "" && r.State != "running" {
		w.note(fmt.Sprintf("run %s: %s", r.ID, console.Printable(text)))
	}
}

// note prints a message, unless it was the last one.
func (w *waiting) note(text string) {
	if text != w.noted {
		w.noted = text
		w.console.Notef("concerto: %s\n", text)
	}
}
