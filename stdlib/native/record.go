package native

import "github.com/concerto-lang/concerto/internal/data/value"

// Structs that natives make or read are declared in .conc; Go code knows them
// by the names of their fields. A call passes the declaration as a type.

// Field is one of a struct's.
type Field = struct {
	Name  string
	Value value.Slot
}

// Record makes a value of a struct. It faults unless fields are exactly those
// of the struct; it is fastest when they come in the struct's order.
func Record(t *value.Type, fields ...Field) value.Slot {
	var few [16]value.Slot // those of most: they are copied
	slots := few[:min(len(t.Fields), len(few))]
	if len(t.Fields) > len(few) {
		slots = make([]value.Slot, len(t.Fields))
	}
	if len(fields) != len(slots) {
		panic(value.Faultf("%s has %d fields, %d are known", t.Name, len(slots), len(fields)))
	}
	for i, f := range fields {
		if t.Fields[i].Name != f.Name {
			i = IndexOf(t, f.Name)
		}
		slots[i] = f.Value
	}
	return t.Struct(slots...)
}

// IndexOf is the place of a struct's field; it faults when there is none.
func IndexOf(t *value.Type, name string) int {
	i := t.FieldIndex(name)
	if i < 0 {
		panic(value.Faultf("%s has no field %s", t.Name, name))
	}
	return i
}

// ElementOf is the type of the elements of a struct's field, an Array.
func ElementOf(t *value.Type, name string) *value.Type {
	return t.Fields[IndexOf(t, name)].Type.Args[0]
}

// Member gives a field of a struct.
func Member(s value.Slot, name string) value.Slot {
	if s.Kind() != value.KindStruct {
		panic(value.Faultf("expected a struct with %s, got %s", name, value.TypeName(s)))
	}
	return s.Fields()[IndexOf(s.Type(), name)]
}
