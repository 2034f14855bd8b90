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
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/vm"
)

// The kinds of an Error. errors.Is(err, ErrNotFound) reports whether an error is of a kind.
var (
	// ErrNotFound: a path leads to no program.
	ErrNotFound = errors.New("program not found")
	// ErrSource: the sources have errors; Error.Diagnostics lists them.
	ErrSource = errors.New("the program has errors")
	// ErrInvalidIR: the data is no compiled program, or was changed after it was compiled.
	ErrInvalidIR = errors.New("invalid compiled program")
	// ErrVersion: another version of Concerto has written the compiled program or the stored run,
	// and this one cannot read it.
	ErrVersion = errors.New("written by another version")
	// ErrNoMain: the program has no main function.
	ErrNoMain = errors.New("the program has no main function")
	// ErrProgram: the program failed with an error that it did not catch, or with a panic.
	// Error.Code is the error's type, or "panic".
	ErrProgram = errors.New("the program failed")
	// ErrTimeLimit: the run took longer than Budget.Time or the manifest's max_run_seconds.
	ErrTimeLimit = errors.New("the run took too long")
	// ErrNoAnswer is returned by Options.AnswerEmit and Options.AnswerHost when there is no answer.
	// The program then gets an EmitError with the reason "no_listener".
	ErrNoAnswer = errors.New("no answer")
	// ErrSuspended: a durable run stopped before its end and can be resumed. Result.Questions lists
	// the questions that it waits for.
	ErrSuspended = errors.New("the run is suspended")
	// ErrNoRun: a directory contains no stored run.
	ErrNoRun = errors.New("no stored run")
	// ErrRunExists: the directory of a new run is not empty.
	ErrRunExists = errors.New("the directory is not empty")
	// ErrLocked: another process executes the stored run, or writes the audit log or ledger.
	ErrLocked = errors.New("in use by another process")
	// ErrDamaged: a stored run, an audit log or a ledger was changed after it was written.
	ErrDamaged = errors.New("damaged")
	// ErrSecret: a secret that a stored run has used is missing, or is not the same any more.
	ErrSecret = errors.New("a secret is missing or was changed")
	// ErrDiverged: a replayed program requests something else than it did when it was recorded.
	ErrDiverged = errors.New("the program differs from its recording")
)

// Error is the error of all functions of this package, except the cause of a context's end.
type Error struct {
	// Kind is one of the Err variables, or nil for other errors, such as those of files.
	Kind error
	// Code is the first diagnostic's code for ErrSource, the type of the program's error or "panic"
	// for ErrProgram, and otherwise "".
	Code string
	// Message describes the failure.
	Message string
	// Hint suggests a correction, or is "".
	Hint string
	// Place is where in the program it happened; the zero Place when that is not known.
	Place Place
	// Trace is the calls that led to Place, the innermost first.
	Trace []Place
	// Diagnostics are all errors and warnings, for ErrSource.
	Diagnostics []Diagnostic
	// Others are the errors of other tasks that failed in the same run.
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

// Unwrap returns the kind and the cause, without those that are nil.
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
	// Function is the name of the function; "" when it is not known.
	Function string
	// File is the name of the file, relative to the project.
	File string
	// Line and Column count from 1, columns in characters; 0 when they are not known.
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

// convert returns an error of the engine as an *Error; nil for nil.
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

// kinds are the kinds of the engine's errors, the first that fits counts.
var kinds = []struct {
	kind error
	is   func(error) bool
}{
	{ErrSuspended, as[*engine.Suspended]},
	{ErrInvalidIR, is(ir.ErrNotIR)},
	{ErrInvalidIR, is(ir.ErrInvalid)},
	{ErrVersion, is(ir.ErrVersion)},
	{ErrVersion, as[*journal.NewerFormatError]},
	{ErrVersion, as[*durable.OtherEngine]},
	{ErrNoMain, is(vm.ErrNoMain)},
	{ErrTimeLimit, as[*budget.TimeError]},
	{ErrNoRun, is(journal.ErrNoRun)},
	{ErrRunExists, as[*journal.ContainsRunError]},
	{ErrRunExists, as[*journal.NotEmptyError]},
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
