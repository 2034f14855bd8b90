package concerto

import (
	"errors"
	"strconv"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/vm"
)

// The kinds of an Error. Use errors.Is(err, ErrNotFound) to check for a kind.
var (
	// ErrNotFound means that there is no program at a path.
	ErrNotFound = errors.New("program not found")
	// ErrSource means that the sources have errors. Error.Diagnostics lists them.
	ErrSource = errors.New("the program has errors")
	// ErrInvalidIR means that the data is no compiled program, or was changed after the
	// compilation.
	ErrInvalidIR = errors.New("invalid compiled program")
	// ErrVersion means that another version of Concerto has written the compiled program or the
	// stored run, and that this version cannot read it.
	ErrVersion = errors.New("written by another version")
	// ErrNoMain means that the program has no main function.
	ErrNoMain = errors.New("the program has no main function")
	// ErrNotCallable means that Program.Call cannot call the function with these arguments.
	ErrNotCallable = errors.New("the function cannot be called")
	// ErrProgram means that the program failed with an error that it did not catch, with a panic,
	// or by process::exit with a code other than 0. Error.Code is the type of the error, "panic" or
	// "exit".
	ErrProgram = errors.New("the program failed")
	// ErrTimeLimit means that the run took longer than Budget.Time or the manifest's
	// max_run_seconds.
	ErrTimeLimit = errors.New("the run took too long")
	// ErrNoAnswer is for Options.AnswerEmit and Options.AnswerHost, which return it if they have no
	// answer. The program then receives an EmitError with the reason "no_listener".
	ErrNoAnswer = errors.New("no answer")
	// ErrSuspended means that a durable run stopped before its end and can be resumed.
	// Result.Questions lists the questions for which it waits.
	ErrSuspended = errors.New("the run is suspended")
	// ErrNoRun means that a directory contains no stored run.
	ErrNoRun = errors.New("no stored run")
	// ErrRunExists means that the directory of a new run is not empty.
	ErrRunExists = errors.New("the directory is not empty")
	// ErrLocked means that another process executes the stored run, or writes the audit log or the
	// ledger.
	ErrLocked = errors.New("in use by another process")
	// ErrDamaged means that a stored run, an audit log or a ledger was changed after it was
	// written.
	ErrDamaged = errors.New("damaged")
	// ErrSecret means that a secret that a stored run has used is missing or has changed.
	ErrSecret = errors.New("a secret is missing or was changed")
	// ErrDiverged means that a replayed program makes a request that differs from the recorded one.
	ErrDiverged = errors.New("the program differs from its recording")
)

// Error is the error that all functions of this package return. The only exception is the cause of
// a context that ended, which they return unchanged.
type Error struct {
	// Kind is one of the Err variables. It is nil for other errors, such as those of files.
	Kind error
	// Code is the code of the first diagnostic for ErrSource. For ErrProgram it is the type of the
	// program's error, "panic" or "exit". Otherwise it is "".
	Code string
	// Message describes the failure.
	Message string
	// Hint suggests a correction. It may be "".
	Hint string
	// Place is the place in the program at which the error occurred. It is the zero Place if
	// unknown.
	Place Place
	// Trace contains the calls that led to Place, the innermost first.
	Trace []Place
	// Diagnostics contains all errors and warnings, for ErrSource.
	Diagnostics []Diagnostic
	// Others contains the errors of further tasks that failed in the same run.
	Others []*Error

	cause error
}

// Error returns the place, if it is known, and the message.
func (e *Error) Error() string {
	if e.Place == (Place{}) {
		return e.Message
	}
	return e.Place.String() + ": " + e.Message
}

// Unwrap returns the kind and the cause, as far as they are set.
func (e *Error) Unwrap() []error {
	var all []error
	if e.Kind != nil {
		all = append(all, e.Kind)
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	return all
}

// Place is a place in the sources of a program.
type Place struct {
	// Function is the name of the function, or "" if unknown.
	Function string
	// File is the name of the file, relative to the project.
	File string
	// Line and Column count from 1, and columns are counted in characters. They are 0 if unknown.
	Line, Column int
}

// String returns the place as file:line:column.
func (p Place) String() string {
	s := p.File
	for _, n := range []int{p.Line, p.Column} {
		if n > 0 {
			s += ":" + strconv.Itoa(n)
		}
	}
	return s
}

func place(p vm.Place) Place { return Place{p.Function, p.File, p.Line, p.Column} }

func places(all []vm.Place) []Place {
	var out []Place
	for _, p := range all {
		if p.Left == 0 {
			out = append(out, place(p))
		}
	}
	return out
}

// convert returns an error of the engine as an *Error. It returns nil for nil.
func convert(err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Message: err.Error(), cause: err}
	if at, ok := errors.AsType[*vm.Stopped](err); ok {
		e.Place, e.Trace = place(at.Place), places(at.Trace)
	}
	if failed, ok := errors.AsType[*vm.Uncaught](err); ok {
		return uncaught(failed, err)
	}
	if _, ok := errors.AsType[*vm.Exit](err); ok {
		e.Kind, e.Code = ErrProgram, "exit"
		return e
	}
	if x, ok := errors.AsType[*driver.PathError](err); ok {
		e.Kind, e.Hint = ErrNotFound, x.Hint
		return e
	}
	if x, ok := errors.AsType[*tape.DivergedError](err); ok && !x.Journal {
		e.Kind, e.Message, e.Place = ErrDiverged, x.Message(), place(x.Place)
		return e
	}
	if x, ok := errors.AsType[*runs.Problem](err); ok {
		e.Hint = x.Hint
		return e
	}
	for _, k := range kinds {
		if k.is(err) {
			e.Kind = k.kind
			break
		}
	}
	return e
}

// kinds lists the kinds of the engine's errors. The first kind that matches applies.
var kinds = []struct {
	kind error
	is   func(error) bool
}{
	{ErrSuspended, as[*engine.Suspended]},
	{ErrInvalidIR, is(ir.ErrNotIR)},
	{ErrInvalidIR, is(ir.ErrInvalid)},
	{ErrVersion, is(ir.ErrVersion)},
	{ErrVersion, as[*journal.NewerFormatError]},
	{ErrVersion, is(journal.ErrDropped)},
	{ErrNoMain, is(vm.ErrNoMain)},
	{ErrNotCallable, as[*engine.NotCallableError]},
	{ErrNotCallable, as[*vm.BadArguments]},
	{ErrTimeLimit, as[*budget.TimeError]},
	{ErrNoRun, is(journal.ErrNoRun)},
	{ErrRunExists, as[*journal.ExistsError]},
	{ErrRunExists, as[*rundir.NotEmptyError]},
	{ErrLocked, as[*journal.HeldError]},
	{ErrLocked, as[*audit.LockedError]},
	{ErrDamaged, as[*journal.DamagedError]},
	{ErrDamaged, as[*audit.BrokenError]},
	{ErrSecret, as[*durable.SecretError]},
	{ErrDiverged, as[*tape.DivergedError]},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// uncaught converts the error of a program that failed.
func uncaught(failed *vm.Uncaught, cause error) *Error {
	e := &Error{Kind: ErrProgram, Code: failed.Kind, Message: failed.Message, Hint: failed.Hint, Place: place(failed.Place), Trace: places(failed.Trace), cause: cause}
	if failed.Panic {
		e.Code = "panic"
	}
	for _, o := range failed.Others {
		e.Others = append(e.Others, uncaught(o, o))
	}
	return e
}
