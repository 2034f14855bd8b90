package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// The exit codes (spec/18-cli.md).
const (
	exitOK          = 0
	exitFailed      = 1   // the program failed
	exitRefused     = 2   // it did not compile, or the command was misused
	exitUnwritable  = 74  // a run's journal cannot be written
	exitWaiting     = 75  // a run waits for an answer, or a time
	exitBroken      = 76  // an audit log or a journal was changed, or a replay left its tape
	exitInterrupted = 130 // Ctrl-C, SIGTERM or SIGHUP
)

// usageError says that the command line is wrong.
type usageError struct {
	message string
	hint    string // the next step; "" without one
}

func (e *usageError) Error() string { return e.message }

func usage(hint, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), hint}
}

// brokenError says that an audit log was changed.
type brokenError struct {
	message string
	hint    string // the next step; "" without one
}

func (e *brokenError) Error() string { return e.message }

// exitError ends the command with a code; its message has been shown.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// errInterrupted is the cause of a run that Ctrl-C or a signal like it ended.
var errInterrupted = errors.New("interrupted")

// failed reports an error and gives its exit code.
func (a *app) failed(err error) int {
	var usage *usageError
	var path *engine.PathError
	var exit exitError
	var uncaught *engine.Uncaught
	var broken *engine.Broken
	var changed *brokenError
	var diverged *engine.Diverged
	var suspended *engine.Suspended
	var problem *runs.Problem
	switch {
	case errors.As(err, &suspended):
		return a.suspended(suspended)
	case errors.As(err, new(*engine.JournalDamaged)), errors.As(err, new(*engine.SecretError)), errors.As(err, new(*engine.JournalHeld)),
		errors.As(err, new(*engine.JournalNewer)), errors.As(err, new(*engine.HoldsRun)), errors.As(err, new(*engine.DirNotEmpty)), errors.As(err, new(*engine.DirUnusable)), errors.As(err, new(*runs.Gone)), errors.As(err, new(*runs.OtherEngine)), errors.Is(err, engine.ErrNoRun), errors.As(err, new(*engine.Strayed)):
		return a.noRun(err)
	case errors.As(err, new(*runs.NoEffect)):
		return a.noEffect(err)
	case errors.As(err, &problem):
		a.complain(problem.Message, problem.Hint)
		return exitFailed
	case errors.As(err, &changed):
		a.complain(changed.message, changed.hint)
		return exitBroken
	case errors.As(err, &diverged):
		fmt.Fprintln(a.stderr, terminal.Escape(diverged.Error()))
		return exitBroken
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		a.complain(usage.message, usage.hint)
		return exitRefused
	case errors.As(err, &path):
		a.complain(path.Error(), path.Hint)
		return exitRefused
	case errors.As(err, &uncaught):
		a.report(uncaught)
		return exitFailed
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		a.complain("interrupted", "")
		return exitInterrupted
	case errors.Is(err, engine.ErrNoMain):
		a.complain(err.Error(), "a run begins with `fn main() { … }`")
		return exitRefused
	case errors.As(err, &broken) && a.loaded != "":
		a.complain(a.loaded+": "+broken.Error(), reload(broken))
		return exitFailed
	case errors.As(err, &broken):
		a.bugAt(broken, broken.Stack)
		return exitFailed
	case errors.Is(err, engine.ErrNoReader):
		// The reader of the output has gone away on purpose: this needs no
		// message.
		return exitFailed
	}
	a.complain(err.Error(), "")
	return exitFailed
}

// complain writes a message and the next step.
func (a *app) complain(what, hint string) {
	if a.records() {
		a.record(message{a.since(), "error", what, hint})
		return
	}
	fmt.Fprintf(a.stderr, "concerto: %s\n", terminal.Escape(what))
	if hint != "" {
		fmt.Fprintf(a.stderr, "  hint: %s\n", terminal.Escape(hint))
	}
}

// reload is the next step after a compiled program that cannot be loaded.
func reload(err error) string {
	switch {
	case errors.Is(err, engine.ErrVersion):
		return "build it again with this version of concerto"
	case errors.Is(err, engine.ErrInvalid):
		return "the file was changed after it was built: build it again"
	}
	return "compiled programs come from `concerto build`; to run a source file, name it with the ending .conc"
}
