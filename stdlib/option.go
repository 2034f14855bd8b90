package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

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
	return native.Lend(value.Unwrap(s)), nil
}

func optionExpect(a *vm.Args) (value.Slot, error) {
	s := a.Slot(0)
	if s.IsNil() {
		return value.Nil, value.Faultf("%s", a.String(1))
	}
	return native.Lend(value.Unwrap(s)), nil
}

func optionUnwrapOr(a *vm.Args) (value.Slot, error) {
	if s := a.Slot(0); !s.IsNil() {
		return native.Lend(value.Unwrap(s)), nil
	}
	return native.Lend(a.Slot(1)), nil
}

func optionOr(a *vm.Args) (value.Slot, error) {
	if s := a.Slot(0); !s.IsNil() {
		return native.Lend(s), nil
	}
	return native.Lend(a.Slot(1)), nil
}
