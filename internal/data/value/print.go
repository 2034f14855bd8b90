package value

import (
	"strconv"
)

// Text returns the text of s as in `"${s}"` and to_string. Strings have no quotes, Floats have the
// shortest form with `.0`, errors are their message, variants without a payload are their name. All
// other values are compact JSON.
func Text(s Slot) string {
	if s.Kind() == KindString {
		return s.AsString()
	}
	return string(AppendText(nil, s))
}

// AppendText appends the text of s.
func AppendText(dst []byte, s Slot) []byte { return appendText(dst, s, nest{bound: &unbound}) }

// AppendTextWithin is like AppendText with a Bound.
func AppendTextWithin(dst []byte, s Slot, b *Bound) []byte {
	return appendText(dst, s, nest{bound: b})
}

func appendText(dst []byte, s Slot, at nest) []byte {
	at.check(dst)
	switch s.Kind() {
	case KindNil:
		return append(dst, "nil"...)
	case KindInt:
		return strconv.AppendInt(dst, s.AsInt(), 10)
	case KindFloat:
		return AppendFloat(dst, s.AsFloat())
	case KindString:
		at.bound.Pace.Bytes(len(s.AsString()) >> 2) // copying is faster than encoding
		return append(dst, s.AsString()...)
	case KindSome:
		return appendText(dst, Unwrap(s), at.in())
	case KindStruct:
		if IsError(s) {
			return append(dst, s.Fields()[0].AsString()...)
		}
	case KindEnum:
		if t := s.Type(); len(s.Fields()) == 0 {
			return append(dst, t.Variants[s.Variant()].Name...)
		}
	case KindRange:
		return appendRange(dst, s)
	case KindClosure:
		return appendReference(dst, "fn", s.Function().Name)
	case KindCell:
		return appendText(dst, s.Fields()[0], at.in())
	case KindAgent:
		return appendReference(dst, "agent", s.Type().Name)
	case KindHost:
		return appendReference(dst, "host", s.Type().Name)
	case KindTool:
		return appendReference(dst, "tool", s.Type().Name)
	case KindHandle:
		return appendReference(dst, lowerFirst(s.Handle().Type), s.Handle().Name)
	case KindTypeDesc:
		return appendReference(dst, "type", s.TypeDesc().String())
	}
	return appendJSON(dst, s, at)
}

func appendReference(dst []byte, what, name string) []byte {
	dst = append(dst, '<')
	dst = append(dst, what...)
	if name != "" {
		dst = append(dst, ' ')
		dst = append(dst, name...)
	}
	return append(dst, '>')
}

// lowerFirst converts the first letter to lower case: "Memory" becomes "memory".
func lowerFirst(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
