package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// New returns the definition of a tool that calls the Go function f. The parameters are the fields
// of In, and the output is the function's result as JSON. Within f, From returns the call's
// Context.
//
// In is a struct, a pointer to a struct, or a map with string keys. Its schema contains the fields
// under their JSON names; pointers and fields with omitempty or omitzero are optional. The tags
// doc, enum ("a,b"), min, max, pattern, format and redact ("true") add to the schema. If a type has
// no schema, Register returns a *DefinitionError that names the field. Numbers in a value of type
// any are decoded as json.Number, so they are not rounded.
func New[In, Out any](name, doc string, f func(context.Context, In) (Out, error)) Definition {
	d := Definition{Name: name, Description: doc}
	d.Parameters, d.wrong = schemaOf(name, reflect.TypeFor[In]())
	d.Handler = func(ctx context.Context, input json.RawMessage, _ *Context) (Result, error) {
		var in In
		if err := decodeArguments(input, &in); err != nil {
			return Result{}, argumentsError{err}
		}
		out, err := f(ctx, in)
		if err != nil {
			return Result{}, err
		}
		if r, ok := any(out).(Result); ok {
			return r, nil
		}
		r, err := Success(out)
		if err != nil {
			return Result{}, fmt.Errorf("the output of tool '%s' cannot be encoded as JSON: %w", name, err)
		}
		return r, nil
	}
	return d
}

// SchemaOf returns the JSON Schema that New generates for a struct or map type.
func SchemaOf(t reflect.Type) (json.RawMessage, error) { return schemaOf(t.String(), t) }

// argumentsError is the error for arguments that are valid against the schema but do not fit the Go
// type, like 1.0 for an int.
type argumentsError struct{ error }

func decodeArguments(input json.RawMessage, to any) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	err := d.Decode(to)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("%s: expected %s, got %s", mismatch.Field, mismatch.Type, mismatch.Value)
	}
	return err
}
