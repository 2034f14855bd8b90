package native

import "github.com/concerto-lang/concerto/internal/data/value"

// The structs that natives create or read are declared in .conc files. Go code refers to their
// fields by name. A call passes the declaration to the native as a type.

// Field is a field of a struct.
type Field = struct {
	Name  string
	Value value.Slot
}

// Record returns a value of a struct type. It raises a fault unless fields contains exactly the
// fields of the struct. It is fastest if they are in the order of the declaration.
func Record(t *value.Type, fields ...Field) value.Slot {
	var few [16]value.Slot // space for the fields of most structs; the slots are copied
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

// IndexOf returns the index of a field of a struct. It raises a fault if there is none.
func IndexOf(t *value.Type, name string) int {
	i := t.FieldIndex(name)
	if i < 0 {
		panic(value.Faultf("%s has no field %s", t.Name, name))
	}
	return i
}

// ElementOf returns the type of the elements of a field, which must be an Array.
func ElementOf(t *value.Type, name string) *value.Type {
	return t.Fields[IndexOf(t, name)].Type.Args[0]
}

// Member returns the value of a field of a struct.
func Member(s value.Slot, name string) value.Slot {
	if s.Kind() != value.KindStruct {
		panic(value.Faultf("expected a struct with %s, got %s", name, value.TypeName(s)))
	}
	return s.Fields()[IndexOf(s.Type(), name)]
}
