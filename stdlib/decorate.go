package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var decorateNatives = native.Table{
	{"same", func(a *vm.Args) (value.Slot, error) { return native.MarkShared(a.Slot(0)), nil }},
	{"decorate.bound", func(a *vm.Args) (value.Slot, error) { return vm.NewBound(a.Int(0)), nil }},
	{"decorate.failure", func(a *vm.Args) (value.Slot, error) {
		if s := a.Slot(0); s.IsResult() && s.Variant() == value.VariantErr {
			return native.MarkShared(s.Fields()[0]), nil
		}
		return value.Nil, nil
	}},
	{"decorate.is_final", func(a *vm.Args) (value.Slot, error) { return value.Bool(isFinal(a.Slot(0))), nil }},
	{"decorate.payload", func(a *vm.Args) (value.Slot, error) {
		s := value.Flatten(a.Slot(0))
		if s.IsResult() {
			s = value.Flatten(s.Fields()[0])
		}
		return native.MarkShared(s), nil
	}},
}

// isFinal reports whether an error is caused by a request that is invalid or not allowed, so that a
// repetition would fail in the same way. It decides by the reason of the error, by its HTTP status
// (400 to 499, except those that mean "not now"), or because a host reported the error.
func isFinal(e value.Slot) bool {
	if reason, ok := value.FieldByName(e, "reason"); ok && reason.Kind() == value.KindString {
		switch reason.AsString() {
		case "auth", "quota", "bad_request", "not_found", "content_filter", "refusal", "length", "context_length", "limit", "config", "permission", "script":
			return true
		}
	}
	if status, ok := value.FieldByName(e, "status"); ok && status.Kind() == value.KindInt {
		switch n := status.AsInt(); n {
		case 408, 409, 425, 429:
			return false
		default:
			return n >= 400 && n < 500
		}
	}
	recoverable, ok := value.FieldByName(e, "recoverable")
	return ok && recoverable.Kind() == value.KindBool && !recoverable.AsBool()
}
