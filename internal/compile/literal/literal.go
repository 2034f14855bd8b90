// Package literal formats values as a program writes them in its source, and lists the parts of
// values. Debuggers and the interactive interpreter use it.
package literal

import (
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Most is the maximum length in bytes of a value's text where a user can also inspect the parts of
// the value one by one.
const Most = 2000

// Text formats a value as a program writes it. t is the type of the value, or nil if it is unknown.
// Text truncates a text of more than Most bytes.
func Text(v value.Slot, t types.Type) string { return TextUpTo(v, t, Most) }

// TextUpTo formats a value like Text does. It truncates a text of more than most bytes.
func TextUpTo(v value.Slot, t types.Type, most int) string {
	w := writer{most: most}
	w.write(v, t, 0)
	text := w.String()
	if len(text) <= most {
		return text
	}
	return text[:utf8cut.Before(text, most)] + "…"
}

// writer builds a text up to a maximum length.
type writer struct {
	strings.Builder
	most int
}

func (b *writer) write(v value.Slot, t types.Type, depth int) {
	if b.Len() > b.most || depth > 50 {
		b.WriteString("…")
		return
	}
	if x, is := optionOf(t); is {
		if v.IsNil() {
			b.WriteString("None")
			return
		}
		b.WriteString("Some(")
		b.write(value.Unwrap(v), x, depth+1)
		b.WriteString(")")
		return
	}
	switch v.Kind() {
	case value.KindString:
		text := v.AsString()
		text = text[:utf8cut.Before(text, b.most)]
		b.WriteString(quoted(text))
	case value.KindArray:
		b.list("[", v, t, ",", "]", depth)
	case value.KindTuple:
		b.list("(", v, t, ", ", ")", depth)
	case value.KindSome:
		b.WriteString("Some(")
		b.write(value.Unwrap(v), nil, depth+1)
		b.WriteString(")")
	case value.KindMap, value.KindStruct:
		b.fields(v, t, depth)
	case value.KindEnum:
		b.variant(v, t, depth)
	default:
		b.WriteString(value.Text(v))
	}
}

// quoted returns the string literal of a String.
func quoted(s string) string {
	q := strconv.Quote(s)
	return strings.ReplaceAll(q, "${", "\\${")
}

func (b *writer) list(open string, v value.Slot, t types.Type, comma, end string, depth int) {
	b.WriteString(open)
	for i, c := range Parts(v, t, 0, Count(v)) {
		if i > 0 {
			b.WriteString(comma)
		}
		b.write(c.Value, c.Type, depth+1)
		if b.Len() > b.most {
			break
		}
	}
	b.WriteString(end)
}

// fields writes a struct, a schema value, an error or a map.
func (b *writer) fields(v value.Slot, t types.Type, depth int) {
	open, end := "{", "}"
	if v.Kind() == value.KindStruct {
		open, end = v.Type().Name+" { ", " }"
	}
	b.WriteString(open)
	for i, c := range Parts(v, t, 0, Count(v)) {
		if i > 0 {
			b.WriteString(", ")
		}
		name := c.Name
		if v.Kind() == value.KindMap {
			name = c.Key
		}
		b.WriteString(name + ": ")
		b.write(c.Value, c.Type, depth+1)
		if b.Len() > b.most {
			break
		}
	}
	b.WriteString(end)
}

// variant writes a value of an enum or a Result.
func (b *writer) variant(v value.Slot, t types.Type, depth int) {
	if v.IsResult() {
		b.WriteString([]string{"Ok", "Err"}[v.Variant()&1])
		b.list("(", v, t, ", ", ")", depth)
		return
	}
	x := v.Type().Variants[v.Variant()]
	b.WriteString(v.Type().Name + "::" + x.Name)
	if len(v.Fields()) == 0 {
		return
	}
	if !x.Named {
		b.list("(", v, t, ", ", ")", depth)
		return
	}
	b.WriteString(" { ")
	for i, c := range Parts(v, t, 0, Count(v)) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Name + ": ")
		b.write(c.Value, c.Type, depth+1)
	}
	b.WriteString(" }")
}

// TypeText returns the name of a value's type: the name of t, or, if t is nil, of the type that the
// value has at run time.
func TypeText(v value.Slot, t types.Type) string {
	if t != nil && t != types.Bad {
		return t.String()
	}
	switch v.Kind() {
	case value.KindNil:
		return "Nil"
	case value.KindInt:
		return "Int"
	case value.KindFloat:
		return "Float"
	case value.KindBool:
		return "Bool"
	case value.KindString:
		return "String"
	case value.KindArray:
		return "Array"
	case value.KindMap:
		return "Map"
	case value.KindTuple:
		return "Tuple"
	case value.KindRange:
		return "Range"
	case value.KindClosure:
		return "Fn"
	case value.KindSome:
		return "Option"
	case value.KindHandle:
		return v.Handle().Type
	case value.KindEnum:
		if v.IsResult() {
			return "Result"
		}
	}
	if x := v.Type(); x != nil {
		return x.Name
	}
	return ""
}
