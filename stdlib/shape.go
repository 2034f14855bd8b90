package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Natives that use run-time types. The compiler passes the type as the last argument.
var shapeNatives = native.Table{
	{"shape.json_schema", func(a *vm.Args) (value.Slot, error) { return value.String(string(schema.Text(a.Type(0)))), nil }},
	{"shape.name", func(a *vm.Args) (value.Slot, error) { return value.String(a.Type(0).Name), nil }},
	{"shape.parse", shapeParse},
	{"shape.read", shapeRead},
	{"shape.convert", shapeConvert},
}

// shapeParse converts a value, or the JSON in a String, to a type.
func shapeParse(a *vm.Args) (value.Slot, error) {
	x, t := value.Flatten(a.Slot(0)), a.Type(1)
	if x.Kind() != value.KindString {
		return shapeConvert(a)
	}
	v, err := native.Decode(a, []byte(x.AsString()), t)
	if err != nil {
		return value.Nil, native.SchemaError(t, err.Error(), x.AsString())
	}
	return v, nil
}

func shapeConvert(a *vm.Args) (value.Slot, error) {
	t := a.Type(1)
	v, errs := schema.ConvertIn(a.Pace(), a.Slot(0), t)
	if len(errs) > 0 {
		return value.Nil, native.SchemaError(t, schema.Join(errs), "")
	}
	return v, nil
}
