package literal

import (
	"strconv"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Part is a part of a value.
type Part struct {
	Name  string // name that a debugger shows
	Key   string // text of the key of a map entry, else ""
	Path  string // text after the expression of the value that refers to the part, such as ".x"; "" if no expression refers to the part
	Value value.Slot
	Type  types.Type // nil if the type is unknown
}

// Flat returns a value without its box, and the contents of a cell.
func Flat(v value.Slot) value.Slot {
	if v.Kind() == value.KindCell {
		return v.Fields()[0]
	}
	return value.Unwrap(v)
}

// Indexed reports whether the parts of a value have numbers instead of names.
func Indexed(v value.Slot) bool { return v.Kind() == value.KindArray }

// Count returns the number of parts of a value.
func Count(v value.Slot) int {
	switch v.Kind() {
	case value.KindArray:
		return v.Array().Len
	case value.KindMap:
		return v.Map().Len()
	case value.KindTuple, value.KindStruct, value.KindEnum, value.KindTool:
		return len(v.Fields())
	}
	return 0
}

// Parts returns the parts of a value with the indices from up to, but not including, to.
func Parts(v value.Slot, t types.Type, from, to int) []Part {
	out := make([]Part, 0, min(to-from, 1000))
	switch v.Kind() {
	case value.KindArray:
		for i := from; i < to; i++ {
			name := "[" + strconv.Itoa(i) + "]"
			out = append(out, Part{Name: name, Path: name, Value: v.Array().At(i), Type: argument(t, 0)})
		}
	case value.KindMap:
		i := 0
		v.Map().Each(func(k, x value.Slot) bool {
			if i >= from && i < to {
				key := Text(k, nil)
				out = append(out, Part{Name: "[" + key + "]", Key: key, Path: "[" + key + "]", Value: x, Type: argument(t, 1)})
			}
			i++
			return i < to
		})
	case value.KindTuple:
		for i := from; i < to; i++ {
			name := strconv.Itoa(i)
			out = append(out, Part{Name: name, Path: "." + name, Value: v.Fields()[i], Type: element(t, i)})
		}
	case value.KindStruct, value.KindTool:
		all := v.Type().Fields
		for i := from; i < to && i < len(all); i++ {
			out = append(out, Part{Name: all[i].Name, Path: "." + all[i].Name, Value: v.Fields()[i], Type: fieldType(t, all[i].Name, all[i].Type)})
		}
	case value.KindEnum:
		for i := from; i < to; i++ {
			p := Part{Name: strconv.Itoa(i), Value: v.Fields()[i]}
			if v.IsResult() {
				p.Type = argument(t, v.Variant())
			} else if x := v.Type().Variants[v.Variant()]; x.Named && i < len(x.Fields) {
				p.Name = x.Fields[i].Name
			}
			out = append(out, p)
		}
	}
	for i := range out {
		if out[i].Value.Kind() == value.KindCell {
			out[i].Value = out[i].Value.Fields()[0]
		}
	}
	return out
}
