package stdlib

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/vm"
)

var httpNatives = []native{
	{"http.__body", httpBody},
}

func httpBody(a *vm.Args) (value.Slot, error) {
	body, headers, timeout := value.Flat(a.Slot(0)), a.Slot(1), a.Int(2)
	if timeout <= 0 {
		return value.Nil, value.Faultf("request: timeout_ms is %d, it must be positive", timeout)
	}
	if body.IsNil() {
		return value.Tuple(value.Nil, lend(headers)), nil
	}
	kind, text := "text/plain; charset=utf-8", body
	if body.Kind() != value.KindString {
		kind, text = "application/json", value.StringTaking(value.AppendJSONWithin(nil, body, a.TextBound()))
	}
	given := false
	headers.Map().Each(func(k, _ value.Slot) bool {
		given = given || strings.EqualFold(value.Text(k), "Content-Type")
		return true
	})
	if given {
		return value.Tuple(text, lend(headers)), nil
	}
	all := value.Copy(headers)
	all.Map().SetString("Content-Type", value.String(kind))
	return value.Tuple(text, all), nil
}
