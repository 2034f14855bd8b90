package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// suspended says why a run was left where it is, and how to go on.
func (a *Console) suspended(e *engine.Suspended) int {
	name := a.RunName
	if name == "" {
		name = a.Relative(e.Dir)
		if filepath.Base(e.Dir) == e.Run {
			name = e.Run
		}
	}
	var unwritable *durable.Unwritable
	var damaged *journal.Damaged
	switch {
	case e.Why == nil:
		for _, q := range e.Waiting {
			text := "waiting: " + q.ID + " " + q.Channel
			if said := PayloadText(q.Channel, q.Payload, a.TTY.Err); said != "" {
				text += " " + said
			}
			a.Notef("%s: concerto runs answer %s %s VALUE\n", Printable(text, a.TTY.Err), name, q.ID)
		}
		if len(e.Waiting) == 0 {
			a.Notef("waiting: for a time that has not come: concerto runs resume %s\n", name)
		}
		return ExitWaiting
	case errors.As(e.Why, &unwritable):
		a.Complain(fmt.Sprintf("suspended: %s cannot be written: %v; make room and concerto runs resume %s", name, unwritable.Err, name), "")
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
		a.Complain("suspended", fmt.Sprintf("concerto runs resume %s goes on with it; concerto runs stop %s ends it", name, name))
		return ExitInterrupted
	}
	a.Complain("suspended: "+e.Why.Error(), fmt.Sprintf("concerto runs resume %s goes on with it", name))
	return ExitFailed
}

// noRun says why a run's directory cannot be used.
func (a *Console) noRun(err error) int {
	name := a.RunName
	var damaged *journal.Damaged
	var held *journal.Held
	var secret *durable.SecretError
	var unusable *journal.Unusable
	switch {
	case errors.As(err, &damaged):
		a.Complain(err.Error(), cmp.Or(damaged.Next, fmt.Sprintf("nothing was changed; concerto runs fork %s --at N saves what stands before", name)))
		return ExitBroken
	case errors.As(err, new(*tape.DivergedError)):
		a.Complain(err.Error(), "")
		return ExitBroken
	case errors.As(err, new(*durable.Gone)):
		a.Complain(fmt.Sprintf("%s: %v", name, err), fmt.Sprintf("concerto runs show %s tells what it has done and waits for; history = \"all\" keeps all of a run", name))
	case errors.As(err, new(*durable.OtherEngine)):
		a.Complain(fmt.Sprintf("%s: %v", name, err), "go on with it by the concerto that has run it")
	case errors.As(err, new(*journal.HoldsRun)):
		a.Complain(fmt.Sprintf("%s holds a run: go on with it by concerto runs resume %s", name, name), "")
	case errors.As(err, &unusable) && unusable.Runs && unusable.Full():
		a.Complain(fmt.Sprintf("%s cannot be written: %v", name, err), "make room and try again; the run is as it was")
		return exitUnwritable
	case errors.As(err, &unusable) && unusable.Runs:
		a.Complain(fmt.Sprintf("%s cannot be written to: %v", name, err), "see to the permissions of the directory and its files; the run is as it was")
	case unusable != nil:
		a.Complain(fmt.Sprintf("%s cannot keep a run: %v", name, err), "name another directory, or see to its permissions")
	case errors.As(err, &held):
		if held.Run != "" {
			name = held.Run
		}
		a.Complain(fmt.Sprintf("run %s %s", name, held), "concerto runs answer, runs show and runs inspect work while it runs")
	case errors.As(err, new(*journal.Newer)):
		a.Complain(fmt.Sprintf("%s: %v", name, err), "use the concerto that made it, or a newer one")
	case errors.As(err, &secret):
		a.Complain(err.Error(), "set "+secret.Name+" as it was when the run began")
	default:
		a.Complain(fmt.Sprintf("%s: %v", name, err), "concerto run --journal DIR begins one")
	}
	return ExitRefused
}

// noEffect says that a run has no such effect.
func (a *Console) noEffect(err error) int {
	a.Complain(fmt.Sprintf("%s: %v", a.RunName, err), "")
	return ExitRefused
}
