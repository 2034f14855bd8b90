package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

// The exit codes (spec/18-cli.md).
const (
	ExitOK          = 0
	ExitFailed      = 1   // the program failed
	ExitRefused     = 2   // it did not compile, or the command was misused
	exitUnwritable  = 74  // a run's journal cannot be written
	ExitWaiting     = 75  // a run waits for an answer, or a time
	ExitBroken      = 76  // an audit log or a journal was changed, or a replay left its tape
	ExitInterrupted = 130 // Ctrl-C, SIGTERM or SIGHUP
)

// usageError says that the command line is wrong.
type usageError struct {
	message string
	hint    string // the next step; "" without one
}

func (e *usageError) Error() string { return e.message }

// Usage returns the error of a command line that is wrong. hint is the next step, or "".
func Usage(hint, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), hint}
}

// brokenError says that an audit log was changed.
type brokenError struct {
	message string
	hint    string // the next step; "" without one
}

func (e *brokenError) Error() string { return e.message }

// Broken returns the error of an audit log or a recording that is not as it was written. hint is
// the next step, or "".
func Broken(hint, format string, args ...any) error {
	return &brokenError{fmt.Sprintf(format, args...), hint}
}

// ExitError ends the command with a code; its message has been shown.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// ErrInterrupted is the cause of a run that Ctrl-C or a signal like it ended.
var ErrInterrupted = errors.New("interrupted")

// Fail reports an error and returns its exit code.
func (a *Console) Fail(err error) int {
	var usage *usageError
	var path *driver.PathError
	var exit ExitError
	var uncaught *vm.Uncaught
	var broken *vm.Broken
	var changed *brokenError
	var diverged *tape.DivergedError
	var suspended *engine.Suspended
	var problem *runs.Problem
	switch {
	case errors.As(err, &suspended):
		return a.suspended(suspended)
	case errors.As(err, new(*journal.DamagedError)), errors.As(err, new(*durable.SecretError)), errors.As(err, new(*journal.HeldError)),
		errors.As(err, new(*journal.NewerFormatError)), errors.As(err, new(*journal.ContainsRunError)), errors.As(err, new(*journal.NotEmptyError)), errors.As(err, new(*journal.UnusableError)), errors.As(err, new(*durable.DroppedError)), errors.As(err, new(*durable.OtherEngine)), errors.Is(err, journal.ErrNoRun),
		errors.As(err, &diverged) && diverged.Journal:
		return a.noRun(err)
	case errors.As(err, new(*durable.NoEffect)):
		return a.noEffect(err)
	case errors.As(err, &problem):
		a.Complain(problem.Message, problem.Hint)
		return ExitFailed
	case errors.As(err, &changed):
		a.Complain(changed.message, changed.hint)
		return ExitBroken
	case errors.As(err, &diverged):
		fmt.Fprintln(a.Stderr, terminal.Escape(diverged.Error()))
		return ExitBroken
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		a.Complain(usage.message, usage.hint)
		return ExitRefused
	case errors.As(err, &path):
		a.Complain(path.Error(), path.Hint)
		return ExitRefused
	case errors.As(err, &uncaught):
		a.report(uncaught)
		return ExitFailed
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		a.Complain("interrupted", "")
		return ExitInterrupted
	case errors.Is(err, vm.ErrNoMain):
		a.Complain(err.Error(), "a run begins with `fn main() { … }`")
		return ExitRefused
	case errors.As(err, &broken) && a.Loaded != "":
		a.Complain(a.Loaded+": "+broken.Error(), Reload(broken))
		return ExitFailed
	case errors.As(err, &broken):
		a.bugAt(broken, broken.Stack)
		return ExitFailed
	case errors.Is(err, emit.ErrNoReader):
		// The reader of the output has gone away on purpose: this needs no
		// message.
		return ExitFailed
	}
	a.Complain(err.Error(), "")
	return ExitFailed
}

// Complain writes a message and the next step.
func (a *Console) Complain(what, hint string) {
	if a.WritesRecords() {
		a.record(message{a.since(), "error", what, hint})
		return
	}
	fmt.Fprintf(a.Stderr, "concerto: %s\n", terminal.Escape(what))
	if hint != "" {
		fmt.Fprintf(a.Stderr, "  hint: %s\n", terminal.Escape(hint))
	}
}

// Reload is the next step after a compiled program that cannot be loaded.
func Reload(err error) string {
	switch {
	case errors.Is(err, ir.ErrVersion):
		return "build it again with this version of concerto"
	case errors.Is(err, ir.ErrInvalid):
		return "the file was changed after it was built: build it again"
	}
	return "compiled programs come from `concerto build`; to run a source file, name it with the ending .conc"
}
