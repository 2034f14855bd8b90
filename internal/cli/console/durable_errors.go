package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// reportSuspended prints why a run was suspended and how to resume it. It returns the exit code.
func (a *Console) reportSuspended(e *engine.Suspended) int {
	name := a.RunName
	if name == "" || name != e.Run && a.Abs(name) != e.Dir { // a run that has continued has another name
		name = a.Relative(e.Dir)
		if filepath.Base(e.Dir) == e.Run {
			name = e.Run
		}
	}
	var unwritable *durable.Unwritable
	var damaged *journal.DamagedError
	switch {
	case e.Why == nil:
		for _, q := range e.Waiting {
			text := "waiting for an answer: " + q.ID + " " + q.Channel
			if payload := PayloadText(q.Channel, q.Payload, a.TTY.Err); payload != "" {
				text += " " + payload
			}
			a.noteNext(Printable(text), fmt.Sprintf("answer with: concerto runs answer %s %s <value>", name, q.ID))
		}
		if len(e.Waiting) == 0 {
			a.noteNext("waiting for a scheduled time", "resume with: concerto runs resume "+name)
		}
		return ExitWaiting
	case errors.As(e.Why, &unwritable):
		a.Complain(fmt.Sprintf("suspended: %s cannot be written: %v", name, unwritable.Err), fmt.Sprintf("%s, then resume with: concerto runs resume %s", afterFailedWrite(unwritable.Err), name))
		return exitUnwritable
	case errors.As(e.Why, &damaged):
		a.Complain(e.Why.Error(), damaged.Next)
		return ExitBroken
	case errors.As(e.Why, new(*tape.DivergedError)):
		a.Complain(e.Why.Error(), "")
		return ExitBroken
	case errors.Is(e.Why, emit.ErrNoReader):
		return ExitFailed
	case errors.Is(e.Why, ErrInterrupted), errors.Is(e.Why, context.Canceled):
		a.Complain("suspended", fmt.Sprintf("resume with: concerto runs resume %s; stop with: concerto runs stop %s", name, name))
		return ExitInterrupted
	}
	a.Complain("suspended: "+e.Why.Error(), fmt.Sprintf("resume with: concerto runs resume %s", name))
	return ExitFailed
}

// afterFailedWrite returns what the user must do about an error of writing a run.
func afterFailedWrite(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "free some space"
	}
	return "remove the cause"
}

// reportRunError prints why a run's directory cannot be used. It returns the exit code.
func (a *Console) reportRunError(err error) int {
	name := a.RunName
	var damaged *journal.DamagedError
	var held *journal.HeldError
	var secret *durable.SecretError
	var unusable *rundir.UnusableError
	switch {
	case errors.As(err, &damaged):
		a.Complain(err.Error(), cmp.Or(damaged.Next, fmt.Sprintf("the run is unchanged; recover its valid part with: concerto runs fork %s --at <n>", name)))
		return ExitBroken
	case errors.As(err, new(*tape.DivergedError)):
		a.Complain(err.Error(), "")
		return ExitBroken
	case errors.As(err, new(*durable.RemovedError)):
		a.Complain(err.Error(), "name a later run, if there is one")
	case errors.Is(err, journal.ErrDropped):
		a.Complain(fmt.Sprintf("%s: %v", name, err), "resume it with the version of concerto that started it")
	case errors.As(err, new(*journal.ExistsError)):
		a.Complain(fmt.Sprintf("%s already contains a run", name), fmt.Sprintf("resume with: concerto runs resume %s", name))
	case errors.As(err, &unusable) && unusable.Runs && unusable.Full():
		a.Complain(fmt.Sprintf("%s cannot be written: %v", name, err), afterFailedWrite(err)+" and try again; the run is unchanged")
		return exitUnwritable
	case errors.As(err, &unusable) && unusable.Runs:
		a.Complain(fmt.Sprintf("%s cannot be written to: %v", name, err), "check the permissions of the directory and its files; the run is unchanged")
	case unusable != nil:
		a.Complain(fmt.Sprintf("%s cannot store a run: %v", name, err), "name another directory, or check its permissions")
	case errors.As(err, &held):
		if held.Run != "" {
			name = held.Run
		}
		a.Complain(fmt.Sprintf("run %s %s", name, held), "`concerto runs answer`, `show` and `inspect` work while it runs")
	case errors.As(err, new(*journal.NewerFormatError)):
		a.Complain(fmt.Sprintf("%s: %v", name, err), "use the version of concerto that created it, or a newer one")
	case errors.As(err, &secret):
		a.Complain(err.Error(), "set "+secret.Name+" to the value that it had at the start of the run")
	default:
		a.Complain(fmt.Sprintf("%s: %v", name, err), "`concerto run --journal <dir>` stores a run")
	}
	return ExitRefused
}

// reportMissingEffect prints that a run has no effect with the requested number. It returns the
// exit code.
func (a *Console) reportMissingEffect(err error) int {
	a.Complain(fmt.Sprintf("%s: %v", a.RunName, err), "")
	return ExitRefused
}
