package console

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget/spent"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

// The exit codes (spec/18-cli.md).
const (
	ExitOK          = 0
	ExitFailed      = 1   // the program failed
	ExitRefused     = 2   // a compile error or a wrong command line
	exitUnreachable = 69  // the engine is not reachable
	exitUnwritable  = 74  // a run's journal or a report cannot be written
	ExitWaiting     = 75  // the run is waiting for an answer or a scheduled time
	ExitBroken      = 76  // an audit log or a journal was modified, or a replay diverged from its tape
	ExitInterrupted = 130 // Ctrl-C, SIGTERM or SIGHUP
)

// usageError is the error of a wrong command line.
type usageError struct {
	message string
	hint    string // the next step, or ""
}

func (e *usageError) Error() string { return e.message }

// Usage returns the error of a wrong command line. hint is the next step, or "".
func Usage(hint, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), hint}
}

// modifiedError is the error of an audit log or a recording that was modified.
type modifiedError struct {
	message string
	hint    string // the next step, or ""
}

func (e *modifiedError) Error() string { return e.message }

// Modified returns the error of an audit log or a recording that was modified. hint is the next
// step, or "".
func Modified(hint, format string, args ...any) error {
	return &modifiedError{fmt.Sprintf(format, args...), hint}
}

// unreachableError is the error of an engine that is not reachable.
type unreachableError struct{ message string }

func (e *unreachableError) Error() string { return e.message }

// Unreachable returns the error of an engine that is not reachable.
func Unreachable(format string, args ...any) error {
	return &unreachableError{fmt.Sprintf(format, args...)}
}

// unwritableError is the error of an output that cannot be written.
type unwritableError struct{ message string }

func (e *unwritableError) Error() string { return e.message }

// Unwritable returns the error of an output that cannot be written.
func Unwritable(format string, args ...any) error {
	return &unwritableError{fmt.Sprintf(format, args...)}
}

// ExitError ends the command with an exit code. Its message was already printed.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// ErrInterrupted is the cause of a run that ended by Ctrl-C or a similar signal.
var ErrInterrupted = errors.New("interrupted")

// CodeOf returns the exit code of a command that ends with an error, or 0 without one.
func (a *Console) CodeOf(err error) int {
	if err == nil {
		return ExitOK
	}
	quiet := *a
	quiet.Stderr = io.Discard
	return quiet.Fail(err)
}

// Fail prints an error and returns its exit code. Of the errors of a run it prints each, and
// returns the exit code of the first.
func (a *Console) Fail(err error) int {
	if all, ok := err.(engine.RunErrors); ok {
		return a.failAll(all)
	}
	if a.Explain != nil {
		err = a.Explain(err)
	}
	var usage *usageError
	var unreachable *unreachableError
	var unwritable *unwritableError
	var path *driver.PathError
	var exit ExitError
	var day *spent.RefusedError
	var uncaught *vm.Uncaught
	var ended *vm.Exit
	var broken *vm.Broken
	var changed *modifiedError
	var diverged *tape.DivergedError
	var suspended *engine.Suspended
	var problem *runs.Problem
	if code, ok := a.reportPackageError(err); ok {
		return code
	}
	switch {
	case errors.As(err, &suspended):
		return a.reportSuspended(suspended)
	case isOfStoredRun(err):
		return a.reportRunError(err)
	case errors.As(err, new(*durable.NoEffect)):
		return a.reportMissingEffect(err)
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
	case errors.As(err, &ended):
		return ended.Code
	case errors.As(err, &usage):
		a.Complain(usage.message, usage.hint)
		return ExitRefused
	case errors.As(err, &day):
		a.Complain(day.Error(), "")
		return ExitRefused
	case errors.As(err, &unreachable):
		a.Complain(unreachable.message, "")
		return exitUnreachable
	case errors.As(err, &unwritable):
		a.Complain(unwritable.message, "")
		return exitUnwritable
	case errors.As(err, &path):
		a.Complain(path.Error(), path.Hint)
		return ExitRefused
	case errors.As(err, &uncaught):
		a.reportUncaught(uncaught)
		return ExitFailed
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		a.Complain("interrupted", "")
		return ExitInterrupted
	case errors.Is(err, vm.ErrNoMain):
		a.Complain(err.Error(), "add `fn main() { … }`, where a run starts")
		return ExitRefused
	case errors.As(err, &broken) && a.Loaded != "":
		a.Complain(a.Loaded+": "+broken.Error(), ReloadHint(broken))
		return ExitFailed
	case errors.As(err, &broken):
		a.reportBugAt(broken, broken.Stack)
		return ExitFailed
	case errors.Is(err, emit.ErrNoReader):
		// The reader of the output has closed the pipe on purpose, as head does: print nothing.
		return ExitFailed
	}
	a.Complain(err.Error(), "")
	return ExitFailed
}

// isOfStoredRun reports whether err is about a stored run.
func isOfStoredRun(err error) bool {
	if diverged, ok := errors.AsType[*tape.DivergedError](err); ok && diverged.Journal {
		return true
	}
	return errors.As(err, new(*journal.DamagedError)) || errors.As(err, new(*durable.SecretError)) || errors.As(err, new(*journal.HeldError)) ||
		errors.As(err, new(*journal.NewerFormatError)) || errors.As(err, new(*journal.ExistsError)) || errors.As(err, new(*rundir.NotEmptyError)) ||
		errors.As(err, new(*rundir.UnusableError)) || errors.As(err, new(*durable.RemovedError)) || errors.Is(err, journal.ErrDropped) || errors.Is(err, journal.ErrNoRun)
}

// failAll prints errors and returns the exit code of the first.
func (a *Console) failAll(all []error) int {
	code := a.Fail(all[0])
	for _, err := range all[1:] {
		a.Fail(err)
	}
	return code
}

// Complain prints the error what and, unless hint is empty, the next step.
func (a *Console) Complain(what, hint string) {
	if a.WritesRecords() {
		a.writeRecord(message{a.elapsed(), "error", what, hint})
		return
	}
	fmt.Fprintf(a.Stderr, "concerto: %s\n", terminal.Escape(what))
	if hint != "" {
		fmt.Fprintf(a.Stderr, "  hint: %s\n", terminal.Escape(hint))
	}
}

// ReloadHint returns the next step to suggest when a compiled program cannot be loaded.
func ReloadHint(err error) string {
	switch {
	case errors.Is(err, ir.ErrVersion):
		return "rebuild it with this version of concerto"
	case errors.Is(err, ir.ErrInvalid):
		return "the file was modified after it was built; rebuild it"
	}
	return "`concerto build` creates compiled programs; the name of a source file must end in .conc"
}
