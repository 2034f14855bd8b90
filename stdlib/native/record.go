package native

import "github.com/concerto-lang/concerto/internal/data/value"

// Structs that natives create or read are declared in .conc files. Go code refers to their fields
// by name. A call passes the declaration as a type.

// Field is a field of a struct.
type Field = struct {
	Name  string
	Value value.Slot
}

// Record returns a value of a struct. It faults unless fields are exactly those of the struct; it
// is fastest if they are in the struct's order.
func Record(t *value.Type, fields ...Field) value.Slot {
	var few [16]value.Slot // enough for most structs; the slots are copied
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

// IndexOf returns the index of a struct's field. It faults if there is none.
func IndexOf(t *value.Type, name string) int {
	i := t.FieldIndex(name)
	if i < 0 {
		panic(value.Faultf("%s has no field %s", t.Name, name))
	}
	return i
}

// ElementOf returns the type of the elements of a struct's field that is an Array.
func ElementOf(t *value.Type, name string) *value.Type {
	return t.Fields[IndexOf(t, name)].Type.Args[0]
}

// Member returns a field of a struct.
func Member(s value.Slot, name string) value.Slot {
	if s.Kind() != value.KindStruct {
		panic(value.Faultf("expected a struct with %s, got %s", name, value.TypeName(s)))
	}
	return s.Fields()[IndexOf(s.Type(), name)]
}
