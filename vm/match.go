package vm

import (
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Run-time types of values: `catch T(e)`, patterns on Any, method lookup, `as`.

func opIsType(t *task, in *ins) status {
	*bitsAt(t.fp, in.a) = bit(isType(value.Flatten(*t.slot(in.b)), t.m.image.types[in.imm]))
	return running
}

// typeKinds contains, for each kind of type, the object kind of its values if all of them have the
// same. It is a table because a map would make a method call a quarter slower.
var typeKinds = func() (table [value.TypeQueue + 1]struct {
	kind value.Kind
	one  bool
}) {
	for t, k := range map[value.TypeKind]value.Kind{value.TypeInt: value.KindInt, value.TypeFloat: value.KindFloat, value.TypeString: value.KindString,
		value.TypeBool: value.KindBool, value.TypeNil: value.KindNil, value.TypeArray: value.KindArray, value.TypeMap: value.KindMap,
		value.TypeTuple: value.KindTuple, value.TypeFunction: value.KindClosure, value.TypeRange: value.KindRange, value.TypeAgent: value.KindAgent,
		value.TypeHost: value.KindHost, value.TypeTool: value.KindTool} {
		table[t].kind, table[t].one = k, true
	}
	return table
}()

// hasType reports whether s has type t. It ignores type parameters: any array is an Array<Int>. The
// type of a named agent, host or tool has only that agent, host or tool as a value.
func hasType(s value.Slot, t *value.Type) bool {
	if only := typeKinds[t.Kind]; only.one {
		if s.Kind() != only.kind {
			return false
		}
		switch t.Kind {
		case value.TypeAgent, value.TypeHost, value.TypeTool:
			return t.Name == "" || t.Name == s.Type().Name
		}
		return true
	}
	switch t.Kind {
	case value.TypeAny:
		return true
	case value.TypeOption:
		return true // None is nil, and a value that is not nil represents its own Some
	case value.TypeResult:
		return s.IsResult()
	case value.TypeStruct, value.TypeSchema, value.TypeEnum:
		return s.Type() == t
	case value.TypeError:
		return t.Name == "" || s.Type() == t
	case value.TypeUnion:
		_, errs := schema.Convert(s, t)
		return len(errs) == 0
	case value.TypeMemory, value.TypeHashMap, value.TypeLedger, value.TypeQueue, value.TypeTask:
		h := s.Handle()
		return h != nil && h.Type == t.String()
	}
	return false
}

// isType reports the same as hasType, but also checks the members of tuples, so that patterns on
// Any can distinguish pairs from triples.
func isType(s value.Slot, t *value.Type) bool {
	if !hasType(s, t) {
		return false
	}
	if t.Kind == value.TypeTuple && len(t.Args) > 0 {
		f := s.Fields()
		if len(f) != len(t.Args) {
			return false
		}
		for i := range f {
			if !isType(value.Flatten(f[i]), t.Args[i]) {
				return false
			}
		}
	}
	return true
}

// opCheck converts an Any to the type of the instruction.
func opCheck(t *task, in *ins) status {
	typ := t.m.image.types[in.imm]
	if s := value.Flatten(*t.slot(in.b)); in.c != 0 && uint8(s.Kind()) == in.c {
		*t.slot(in.a) = s
		return running
	}
	v, errs := schema.ConvertIn(&t.m.pace, *t.slot(in.b), typ)
	if len(errs) == 0 {
		*t.slot(in.a) = v
		return running
	}
	if typ.Kind == value.TypeSchema {
		return t.throw(value.NewError("SchemaError", schema.Join(errs), value.ErrorField{Name: "schema", Value: value.String(typ.Name)}))
	}
	if len(errs) == 1 && errs[0].Path == "" {
		return t.fault("%s", errs[0].Message)
	}
	return t.fault("this is not %s: %s", typ, schema.Join(errs))
}

// unconverted returns the kind of the values of a scalar type, which need no conversion. For other
// types it returns KindNil.
func unconverted(t *value.Type) value.Kind {
	switch t.Kind {
	case value.TypeInt, value.TypeFloat, value.TypeString, value.TypeBool:
		return typeKinds[t.Kind].kind
	}
	return value.KindNil
}

// describe describes a value for the message of a fault: a scalar by its value, any other value by
// its type.
func describe(s value.Slot) string {
	switch s.Kind() {
	case value.KindNil:
		return "nil"
	case value.KindInt, value.KindFloat, value.KindBool:
		return value.TypeName(s) + " " + value.Text(s)
	case value.KindString:
		return "String " + string(value.AppendString(nil, s.AsString()))
	}
	return value.TypeName(s)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func floatText(f float64) string { return string(value.AppendFloat(nil, f)) }
