package postgres

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// StateError means that a run cannot be changed in its state.
type StateError struct {
	Run, State string
	Want       string // the states in which it can be changed
}

func (e *StateError) Error() string {
	return fmt.Sprintf("run %s is %s, not %s", e.Run, e.State, e.Want)
}

// PinnedError means that a run cannot be removed, because only a worker on its machine can stop its
// hosts.
type PinnedError struct{ Run, Machine string }

func (e *PinnedError) Error() string {
	return fmt.Sprintf("run %s may have hosts on machine %s; stop it first: concerto runs stop %s", e.Run, e.Machine, e.Run)
}

// Delete removes a run that has no owner. The error is journal.ErrNoRun, a *journal.HeldError, or a
// *PinnedError.
func (e *Engine) Delete(ctx context.Context, id string) error {
	var result string
	var machine *string
	var pid *int
	if err := e.change(ctx, `SELECT * FROM concerto.remove($1)`, []any{id}, &result, &machine, &pid); err != nil {
		return err
	}
	switch result {
	case "none":
		return journal.ErrNoRun
	case "held":
		held := &journal.HeldError{Run: id}
		if machine != nil && pid != nil {
			held.Machine, held.PID = *machine, *pid
		}
		return held
	case "pinned":
		return &PinnedError{id, *machine}
	}
	return nil
}

// Release makes a held run ready. The error is journal.ErrNoRun or a *StateError.
func (e *Engine) Release(ctx context.Context, id string) error {
	var result string
	if err := e.change(ctx, `SELECT concerto.release_held($1)`, []any{id}, &result); err != nil {
		return err
	}
	return stateError(id, result, "released", "held")
}

// Move contains changes of a run.
type Move struct {
	Queue      *string // nil for no change
	Priority   *int    // nil for no change
	AnyMachine bool    // remove the run's pin
}

// Move changes a run that is ready or waiting. The error is journal.ErrNoRun or a *StateError.
func (e *Engine) Move(ctx context.Context, id string, m Move) error {
	var result string
	if err := e.change(ctx, `SELECT concerto.move($1, $2, $3, $4)`, []any{id, m.Queue, m.Priority, m.AnyMachine}, &result); err != nil {
		return err
	}
	return stateError(id, result, "moved", "ready or waiting")
}

// change executes a function of the schema that changes a run.
func (e *Engine) change(ctx context.Context, sql string, args []any, to ...any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return e.pool.QueryRow(ctx, sql, args...).Scan(to...)
}

// stateError returns the error for the result of a change that is not done.
func stateError(id, result, done, want string) error {
	switch result {
	case done:
		return nil
	case "none":
		return journal.ErrNoRun
	}
	return &StateError{Run: id, State: result, Want: want}
}
