// Package effect defines the interface between a running program and its environment. Every effect
// leaves the VM as a Request: plain data that can be permitted, limited, journaled, mocked or
// replayed without being performed. Nothing else in the VM or the library accesses the environment.
//
// Requests are encoded: they contain JSON bytes and Go scalars, created on the VM's goroutine.
// Results are fresh: their values are created by the performer and belong to the VM afterwards.
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

// Performer performs the requests of the VM. Perform returns when the effect is done or ctx is
// done; the error is then context.Cause(ctx). An error that the program may catch is an *Error; any
// other stops the run. A Performer is safe for concurrent use.
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

// Status describes what is known of a failed effect: a run that resumes later checks whether the
// effect may have happened.
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
	// By and Name state who decided that it fails: ByAnswer, …; "" if it was not decided.
	By, Name string
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the underlying Go error, if any.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error without further fields.
func Errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// With sets a field and returns the error.
func (e *Error) With(field string, v any) *Error {
	if e.Fields == nil {
		e.Fields = map[string]any{}
	}
	e.Fields[field] = v
	return e
}

// Decided sets who decided that it fails, and returns the error.
func (e *Error) Decided(by, name string) *Error {
	e.By, e.Name = by, name
	return e
}

// UnperformedError is the error of a performer for a request of a kind that it does not perform. It
// means that the performers are connected incorrectly.
type UnperformedError struct {
	Who  string
	Kind Kind
}

func (e *UnperformedError) Error() string { return e.Who + " cannot perform " + string(e.Kind) }

// ErrWaits is returned by Perform for a request with WithNoWait that would have to wait. Nothing
// has happened: a caller that can wait repeats the request.
var ErrWaits = errors.New("the effect has to wait")

type atOnce struct{}

// WithNoWait returns a context in which performers return ErrWaits instead of waiting.
func WithNoWait(ctx context.Context) context.Context { return context.WithValue(ctx, atOnce{}, true) }

// IsNoWait reports whether ctx was made by WithNoWait.
func IsNoWait(ctx context.Context) bool { return ctx.Value(atOnce{}) != nil }
