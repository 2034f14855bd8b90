package stdlib

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// Natives over run-time types. The compiler passes the type as their last
// argument.
var shapeNatives = []native{
	{"shape.json_schema", func(a *vm.Args) (value.Slot, error) { return value.String(string(schema.Text(a.Type(0)))), nil }},
	{"shape.name", func(a *vm.Args) (value.Slot, error) { return value.String(a.Type(0).Name), nil }},
	{"shape.parse", shapeParse},
	{"shape.read", shapeRead},
	{"shape.convert", shapeConvert},
}

// decode reads JSON as a t. The error has one line that names every field.
func decode(a *vm.Args, data []byte, t *value.Type) (value.Slot, error) {
	v, errs := schema.DecodeIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// decoded is decode of what has been parsed already.
func decoded(a *vm.Args, data value.Slot, t *value.Type) (value.Slot, error) {
	v, errs := schema.ConvertIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// schemaError makes the SchemaError for data that does not fit t; text is what
// the data was read from, "" when it was not a text.
func schemaError(t *value.Type, message, text string) error {
	e := value.Errorf("SchemaError", "%s", message).With("schema", value.String(t.Name))
	if text != "" {
		e.With("raw_response", value.String(text))
	}
	return e
}

// shapeParse checks a value, or a String as the JSON in it.
func shapeParse(a *vm.Args) (value.Slot, error) {
	x, t := value.Flat(a.Slot(0)), a.Type(1)
	if x.Kind() != value.KindString {
		return shapeConvert(a)
	}
	v, err := decode(a, []byte(x.AsString()), t)
	if err != nil {
		return value.Nil, schemaError(t, err.Error(), x.AsString())
	}
	return v, nil
}

func shapeConvert(a *vm.Args) (value.Slot, error) {
	t := a.Type(1)
	v, errs := schema.ConvertIn(a.Pace(), a.Slot(0), t)
	if len(errs) > 0 {
		return value.Nil, schemaError(t, schema.Join(errs), "")
	}
	return v, nil
}
