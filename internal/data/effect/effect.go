// Package effect defines the interface between a running program and its environment. Each effect
// leaves the VM as a Request. A Request is plain data that can be permitted, limited, journaled,
// mocked or replayed without performing the effect. The VM and the library access the environment
// in no other way.
//
// Requests contain only JSON bytes and Go scalars, and are created on the VM's goroutine. Results
// are created by the performer, and belong to the VM afterwards.
package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Kind is the name of a kind of request. The names never change, because journals contain them.
type Kind string

// Request is one effect as plain data.
type Request interface{ Kind() Kind }

// Result is the result of an effect. Its concrete type depends on the type of the request.
type Result any

// Performer performs the requests of the VM. Perform returns when the effect or ctx is done; in the
// latter case the error is context.Cause(ctx). An *Error is an error that the program may catch.
// Any other error stops the run. A Performer is safe for concurrent use.
type Performer interface {
	Perform(ctx context.Context, r Request) (Result, error)
}

// PerformerFunc is a function that implements Performer.
type PerformerFunc func(ctx context.Context, r Request) (Result, error)

// Perform calls f.
func (f PerformerFunc) Perform(ctx context.Context, r Request) (Result, error) { return f(ctx, r) }

// Layer wraps a Performer to add one concern, such as permissions, limits, a journal or mocks.
type Layer func(next Performer) Performer

// Status describes whether a failed effect has happened. A run that is resumed uses it.
type Status uint8

// The statuses.
const (
	None    Status = iota // the effect has not happened
	Done                  // the effect has happened
	Unknown               // the effect may have happened
)

// Error is an error that the program can catch. Kind is the name of its built-in error type
// ("HostError"). Fields contains the other fields of that type by name, as string, bool, int64,
// float64 or []string.
type Error struct {
	Kind    string
	Message string
	Fields  map[string]any
	Status  Status
	Cause   error
	// By and Name identify who decided that the effect fails: a By constant and a name. "" means
	// that it was not a decision. Seal is its signature, as in Answer, or nil.
	By, Name string
	Seal     json.RawMessage
	// Attempts contains the failed attempts at a model.
	Attempts []Attempt
	// Type is a more exact type than Kind, or "". Records do not contain it.
	Type string
	// IsDenied means that the run lacks a permission. Records do not contain it.
	IsDenied bool
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an Error without additional fields.
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

// Decided sets By, Name and Seal, and returns the error.
func (e *Error) Decided(by, name string, seal json.RawMessage) *Error {
	e.By, e.Name, e.Seal = by, name, seal
	return e
}

// UnperformedError is the error for a request whose kind no performer handles. It means that the
// performers are configured incorrectly.
type UnperformedError struct {
	Who  string
	Kind Kind
}

func (e *UnperformedError) Error() string { return e.Who + " cannot perform " + string(e.Kind) }

// ErrWaits is the error of Perform for a request with WithNoWait that would have to wait. The
// effect has not happened, so the caller can repeat the request without WithNoWait.
var ErrWaits = errors.New("the effect has to wait")

type atOnce struct{}

// WithNoWait returns a context in which performers return ErrWaits instead of waiting.
func WithNoWait(ctx context.Context) context.Context { return context.WithValue(ctx, atOnce{}, true) }

// IsNoWait reports whether WithNoWait has marked the request.
func IsNoWait(ctx context.Context) bool { return ctx.Value(atOnce{}) != nil }
