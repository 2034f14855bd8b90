package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var errorNatives = native.Table{
	{"Error.to_string", func(a *vm.Args) (value.Slot, error) { return value.String(value.Text(a.Slot(0))), nil }},
	{"Error.context", errorContext},
	{"__with_context", errorContext},
}

func errorContext(a *vm.Args) (value.Slot, error) { return withContext(a.Slot(0), a.String(1)), nil }

// withContext puts `text: ` before an error's message. It keeps the error's
// type, which the program may know: a built-in error wraps the old one, a
// String and a struct with a String field `message` get the prefix, and any
// other value stays as it is.
func withContext(e value.Slot, text string) value.Slot {
	e = value.Flat(e)
	switch {
	case value.IsError(e):
		return value.WithContext(e, text)
	case e.Kind() == value.KindString:
		return value.String(text + ": " + e.AsString())
	case e.Kind() == value.KindStruct:
		i := e.Type().FieldIndex("message")
		if i >= 0 && e.Fields()[i].Kind() == value.KindString {
			c := value.Copy(e)
			c.Fields()[i] = value.String(text + ": " + e.Fields()[i].AsString())
			return c
		}
	}
	return native.Lend(e)
}
