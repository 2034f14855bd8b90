package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/runs"
)

// suspended says why a run was left where it is, and how to go on.
func (a *app) suspended(e *engine.Suspended) int {
	name := a.naming
	if name == "" {
		name = a.relative(e.Dir)
		if filepath.Base(e.Dir) == e.Run {
			name = e.Run
		}
	}
	var unwritable *engine.Unwritable
	var damaged *engine.JournalDamaged
	switch {
	case e.Why == nil:
		for _, q := range e.Waiting {
			text := "waiting: " + q.ID + " " + q.Channel
			if said := payload(q.Channel, q.Payload, a.errTerminal); said != "" {
				text += " " + said
			}
			a.note("%s: concerto answer %s %s VALUE\n", shown(text, a.errTerminal), name, q.ID)
		}
		if len(e.Waiting) == 0 {
			a.note("waiting: for a time that has not come: concerto resume %s\n", name)
		}
		return exitWaiting
	case errors.As(e.Why, &unwritable):
		a.complain(fmt.Sprintf("suspended: %s cannot be written: %v; make room and concerto resume %s", name, unwritable.Err, name), "")
		return exitUnwritable
	case errors.As(e.Why, &damaged):
		a.complain(e.Why.Error(), damaged.Next)
		return exitBroken
	case errors.As(e.Why, new(*engine.Strayed)):
		a.complain(e.Why.Error(), "")
		return exitBroken
	case errors.Is(e.Why, engine.ErrNoReader):
		return exitFailed
	case errors.Is(e.Why, errInterrupted), errors.Is(e.Why, context.Canceled):
		a.complain("suspended", fmt.Sprintf("concerto resume %s goes on with it; concerto runs stop %s ends it", name, name))
		return exitInterrupted
	}
	a.complain("suspended: "+e.Why.Error(), fmt.Sprintf("concerto resume %s goes on with it", name))
	return exitFailed
}

// noRun says why a run's directory cannot be used.
func (a *app) noRun(err error) int {
	name := a.naming
	var damaged *engine.JournalDamaged
	var held *engine.JournalHeld
	var secret *engine.SecretError
	var unusable *engine.DirUnusable
	switch {
	case errors.As(err, &damaged):
		a.complain(err.Error(), cmp.Or(damaged.Next, fmt.Sprintf("nothing was changed; concerto fork %s --at N saves what stands before", name)))
		return exitBroken
	case errors.As(err, new(*engine.Strayed)):
		a.complain(err.Error(), "")
		return exitBroken
	case errors.As(err, new(*runs.Gone)):
		a.complain(fmt.Sprintf("%s: %v", name, err), fmt.Sprintf("concerto runs show %s tells what it has done and waits for; history = \"all\" keeps all of a run", name))
	case errors.As(err, new(*runs.OtherEngine)):
		a.complain(fmt.Sprintf("%s: %v", name, err), "go on with it by the concerto that has run it")
	case errors.As(err, new(*engine.HoldsRun)):
		a.complain(fmt.Sprintf("%s holds a run: go on with it by concerto resume %s", name, name), "")
	case errors.As(err, &unusable) && unusable.Runs && unusable.Full():
		a.complain(fmt.Sprintf("%s cannot be written: %v", name, err), "make room and try again; the run is as it was")
		return exitUnwritable
	case errors.As(err, &unusable) && unusable.Runs:
		a.complain(fmt.Sprintf("%s cannot be written to: %v", name, err), "see to the permissions of the directory and its files; the run is as it was")
	case unusable != nil:
		a.complain(fmt.Sprintf("%s cannot keep a run: %v", name, err), "name another directory, or see to its permissions")
	case errors.As(err, &held):
		if held.Run != "" {
			name = held.Run
		}
		a.complain(fmt.Sprintf("run %s %s", name, held), "concerto answer, runs show and inspect work all the same")
	case errors.As(err, new(*engine.JournalNewer)):
		a.complain(fmt.Sprintf("%s: %v", name, err), "use the concerto that made it, or a newer one")
	case errors.As(err, &secret):
		a.complain(err.Error(), "set "+secret.Name+" as it was when the run began")
	default:
		a.complain(fmt.Sprintf("%s: %v", name, err), "concerto run --journal DIR begins one")
	}
	return exitRefused
}

// noEffect says that a run has no such effect.
func (a *app) noEffect(err error) int {
	a.complain(fmt.Sprintf("%s: %v", a.naming, err), "")
	return exitRefused
}
