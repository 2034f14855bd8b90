// Package effect is the door between a running program and the world. Every
// effect leaves the VM as a Request: plain data, so that it can be permitted,
// limited, journaled, mocked or replayed without being performed. Nothing else
// in the VM or the library touches the world.
//
// Out goes encoded: requests hold JSON bytes and Go scalars, made on the VM's
// goroutine. In comes fresh: the values of a result are built by the performer
// and are the VM's from then on.
package effect

import (
	"context"
	"errors"
	"fmt"
)

// Kind names a kind of request. Kinds are stable: journals hold them.
type Kind string

// Request is one effect as plain data.
type Request interface{ Kind() Kind }

// Result is what an effect gave; its concrete type follows from the request's.
type Result any

// Performer is the VM's only way out. Perform returns when the effect is done
// or ctx ends; the error is then context.Cause(ctx). An error that the program
// may catch is an *Error; any other ends the run. A Performer is safe for
// concurrent use.
type Performer interface {
	Perform(ctx context.Context, r Request) (Result, error)
}

// PerformerFunc makes a function a Performer.
type PerformerFunc func(ctx context.Context, r Request) (Result, error)

// Perform calls f.
func (f PerformerFunc) Perform(ctx context.Context, r Request) (Result, error) { return f(ctx, r) }

// A Layer adds one concern around a Performer: permissions, limits, journal,
// mocks.
type Layer func(next Performer) Performer

// Status says what is known of an effect that failed: a run that resumes later
// asks whether the effect may have happened.
type Status uint8

// The statuses.
const (
	None    Status = iota // it did not happen
	Done                  // it happened
	Unknown               // it may have happened
)

// Error is a failure that the program can catch. Kind is the name of its
// built-in error type ("HostError"); Fields are that type's further fields,
// by name, as string, bool, int64 or float64.
type Error struct {
	Kind    string
	Message string
	Fields  map[string]any
	Status  Status
	Cause   error
	// By and Name are who decided that it fails: ByAnswer, …; "" where nobody did.
	By, Name string
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the Go error behind it, if any.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error without further fields.
func Errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// With sets a field and gives the error back.
func (e *Error) With(field string, v any) *Error {
	if e.Fields == nil {
		e.Fields = map[string]any{}
	}
	e.Fields[field] = v
	return e
}

// Decided returns who decided that it fails, and gives the error back.
func (e *Error) Decided(by, name string) *Error {
	e.By, e.Name = by, name
	return e
}

// Unperformed is the error of a performer that gets a request of a kind that it
// does not perform. It is a mistake in the wiring of performers.
type Unperformed struct {
	Who  string
	Kind Kind
}

func (e *Unperformed) Error() string { return e.Who + " cannot perform " + string(e.Kind) }

// ErrWaits is what Perform gives for a request made AtOnce that would have to
// wait. Nothing has happened then: a caller that can wait makes the request
// again.
var ErrWaits = errors.New("the effect has to wait")

type atOnce struct{}

// AtOnce asks for no waiting: a performer that would wait gives ErrWaits.
func AtOnce(ctx context.Context) context.Context { return context.WithValue(ctx, atOnce{}, true) }

// IsAtOnce reports whether ctx was made by AtOnce.
func IsAtOnce(ctx context.Context) bool { return ctx.Value(atOnce{}) != nil }
