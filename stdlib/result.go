package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var resultNatives = native.Table{
	{"Result.is_ok", func(a *vm.Args) (value.Slot, error) {
		_, ok, err := result(a)
		return value.Bool(ok), err
	}},
	{"Result.is_err", func(a *vm.Args) (value.Slot, error) {
		_, ok, err := result(a)
		return value.Bool(!ok), err
	}},
	{"Result.unwrap", resultUnwrap},
	{"Result.expect", resultExpect},
	{"Result.unwrap_err", resultUnwrapErr},
	{"Result.unwrap_or", resultUnwrapOr},
	{"Result.ok", resultOk},
	{"Result.err", resultErr},
	{"__errors_in", errorsIn},
}

// result returns the content of the receiver, a Result, and whether the Result is Ok. The Result
// still contains the content.
func result(a *vm.Args) (payload value.Slot, ok bool, err error) {
	s := a.Slot(0)
	if !s.IsResult() {
		return value.Nil, false, value.Faultf("expected a Result, got %s", value.TypeName(s))
	}
	return s.Fields()[0], s.Variant() == value.VariantOk, nil
}

func resultUnwrap(a *vm.Args) (value.Slot, error) {
	v, ok, err := result(a)
	if err == nil && !ok {
		err = value.Faultf("unwrap of Err: %s", value.Message(v))
	}
	return shareResult(v, err)
}

func resultExpect(a *vm.Args) (value.Slot, error) {
	v, ok, err := result(a)
	if err == nil && !ok {
		err = value.Faultf("%s: %s", a.String(1), value.Message(v))
	}
	return shareResult(v, err)
}

func resultUnwrapErr(a *vm.Args) (value.Slot, error) {
	v, ok, err := result(a)
	if err == nil && ok {
		err = value.Faultf("unwrap_err of Ok: %s", value.Text(v))
	}
	return shareResult(v, err)
}

// shareResult marks v as shared and returns it, unless there is an error.
func shareResult(v value.Slot, err error) (value.Slot, error) {
	if err != nil {
		return value.Nil, err
	}
	return native.MarkShared(v), nil
}

func resultUnwrapOr(a *vm.Args) (value.Slot, error) {
	v, ok, err := result(a)
	if !ok {
		v = a.Slot(1)
	}
	return shareResult(v, err)
}

func resultOk(a *vm.Args) (value.Slot, error) {
	v, ok, err := result(a)
	if err != nil || !ok {
		return value.Nil, err
	}
	return value.Some(native.MarkShared(v)), nil
}

func resultErr(a *vm.Args) (value.Slot, error) {
	v, ok, err := result(a)
	if err != nil || ok {
		return value.Nil, err
	}
	return value.Some(native.MarkShared(v)), nil
}

var optionNatives = native.Table{
	{"Option.is_some", func(a *vm.Args) (value.Slot, error) { return value.Bool(!a.Slot(0).IsNil()), nil }},
	{"Option.is_none", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Slot(0).IsNil()), nil }},
	{"Option.unwrap", optionUnwrap},
	{"Option.expect", optionExpect},
	{"Option.unwrap_or", optionUnwrapOr},
	{"Option.or", optionOr},
}

func optionUnwrap(a *vm.Args) (value.Slot, error) {
	s := a.Slot(0)
	if s.IsNil() {
		return value.Nil, value.Faultf("unwrap of None")
	}
	return native.MarkShared(value.Unwrap(s)), nil
}

func optionExpect(a *vm.Args) (value.Slot, error) {
	s := a.Slot(0)
	if s.IsNil() {
		return value.Nil, value.Faultf("%s", a.String(1))
	}
	return native.MarkShared(value.Unwrap(s)), nil
}

func optionUnwrapOr(a *vm.Args) (value.Slot, error) {
	if s := a.Slot(0); !s.IsNil() {
		return native.MarkShared(value.Unwrap(s)), nil
	}
	return native.MarkShared(a.Slot(1)), nil
}

func optionOr(a *vm.Args) (value.Slot, error) {
	if s := a.Slot(0); !s.IsNil() {
		return native.MarkShared(s), nil
	}
	return native.MarkShared(a.Slot(1)), nil
}

// errorsIn returns the messages of the Errs in a value that is a Result, or that contains Results.
func errorsIn(a *vm.Args) (value.Slot, error) {
	out := value.NewArray()
	addErrors(a.Pace(), out, a.Slot(0))
	return out.Slot(), nil
}

func addErrors(p *value.Pace, out *value.Array, s value.Slot) {
	p.Step(1)
	switch s.Kind() {
	case value.KindEnum:
		if s.IsResult() && s.Variant() == value.VariantErr {
			out.Push(value.String(value.Message(s.Fields()[0])))
		}
	case value.KindArray:
		for i := range s.Array().Len {
			addErrors(p, out, s.Array().At(i))
		}
	case value.KindMap:
		s.Map().Each(func(_, v value.Slot) bool {
			addErrors(p, out, v)
			return true
		})
	case value.KindTuple, value.KindSome:
		for _, f := range s.Fields() {
			addErrors(p, out, f)
		}
	}
}
