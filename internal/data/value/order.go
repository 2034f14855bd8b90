package value

import (
	"cmp"
	"strings"
)

// Compare orders two numbers, or two Strings by code point: c is negative, zero or positive. ok is
// false for other values. NaN is less than every number, so that sorting has a total order.
func Compare(a, b Slot) (c int, ok bool) {
	ka, kb := a.Kind(), b.Kind()
	switch {
	case ka == KindInt && kb == KindInt:
		return cmp.Compare(a.AsInt(), b.AsInt()), true
	case ka == KindString && kb == KindString:
		return strings.Compare(a.AsString(), b.AsString()), true
	}
	x, okx := a.Number()
	y, oky := b.Number()
	if !okx || !oky {
		return 0, false
	}
	return cmp.Compare(x, y), true
}
