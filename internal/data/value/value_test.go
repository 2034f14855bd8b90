package value

import (
	"math"
	"testing"
)

func TestText(t *testing.T) {
	unit := &Type{Kind: TypeEnum, Name: "E", Variants: []Variant{{Name: "U"}, {Name: "One", Fields: []Field{{Name: "0"}}},
		{Name: "N", Named: true, Fields: []Field{{Name: "a"}, {Name: "b"}}}}}
	unit.Seal()
	point := &Type{Kind: TypeSchema, Name: "P", Fields: []Field{{Name: "x"}, {Name: "y", Optional: true}}}
	m := NewMap(0)
	m.SetString("k\"", Nil)
	m.Set(Int(-3), Float(1e21))
	m.Set(Bool(true), String("é\n\x01<"))
	for _, c := range []struct {
		s          Slot
		text, json string
	}{
		{Nil, "nil", "null"},
		{Int(math.MinInt64), "-9223372036854775808", "-9223372036854775808"},
		{Float(3), "3.0", "3.0"}, {Float(0.1), "0.1", "0.1"}, {Float(0), "0.0", "0.0"}, {Float(math.Copysign(0, -1)), "-0.0", "-0.0"},
		{Float(1e21), "1e+21", "1e+21"}, {Float(1e-7), "1e-7", "1e-7"}, {Float(123456789012345680000), "123456789012345680000.0", "123456789012345680000.0"},
		{Float(math.NaN()), "NaN", "null"}, {Float(math.Inf(1)), "inf", "null"}, {Float(math.Inf(-1)), "-inf", "null"},
		{Bool(true), "true", "true"}, {String("a\"b"), "a\"b", `"a\"b"`},
		{Some(Nil), "nil", "null"}, {Some(Int(1)), "1", "1"}, {Some(Some(Nil)), "nil", "null"},
		{Ok(Int(1)), `{"ok":1}`, `{"ok":1}`}, {Err(String("e")), `{"err":"e"}`, `{"err":"e"}`},
		{unit.Enum(0), "U", `"U"`}, {unit.Enum(1, ArrayOf(Int(1))), `{"variant":"One","data":[1]}`, `{"variant":"One","data":[1]}`},
		{unit.Enum(2, Int(1), Nil), `{"variant":"N","data":{"a":1,"b":null}}`, `{"variant":"N","data":{"a":1,"b":null}}`},
		{point.Struct(Int(1), Nil), `{"x":1}`, `{"x":1}`}, {point.Struct(Nil, Int(2)), `{"x":null,"y":2}`, `{"x":null,"y":2}`},
		{Tuple(Int(1), String("a")), `[1,"a"]`, `[1,"a"]`}, {ArrayOf(), "[]", "[]"},
		{m.Slot(), `{"k\"":null,"-3":1e+21,"true":"é\n\u0001<"}`, `{"k\"":null,"-3":1e+21,"true":"é\n\u0001<"}`},
		{NewRange(0, 3), "0..3", `"0..3"`},
		{NewClosure(&Function{Name: "f"}), "<fn f>", `"<fn f>"`}, {NewClosure(&Function{}), "<fn>", `"<fn>"`},
		{New(KindAgent, 0, &Type{Kind: TypeAgent, Name: "Writer"}), "<agent Writer>", `"<agent Writer>"`},
		{NewHandle("Memory", "chat", nil), "<memory chat>", `"<memory chat>"`},
		{NewError("HostError", "gone", ErrorField{"host", String("w")}), "gone", `{"message":"gone","kind":"HostError","host":"w"}`},
	} {
		if got := Text(c.s); got != c.text {
			t.Errorf("text %q, want %q", got, c.text)
		}
		if got := string(AppendJSON(nil, c.s)); got != c.json {
			t.Errorf("JSON %s, want %s", got, c.json)
		}
	}
}

func TestEqual(t *testing.T) {
	nan := ArrayOf(Float(math.NaN()))
	m1, m2 := NewMap(0), NewMap(0)
	m1.SetString("a", Int(1))
	m1.SetString("b", Int(2))
	m2.SetString("b", Int(2))
	m2.SetString("a", Int(1))
	closure := NewClosure(&Function{})
	wrapped := WithContext(NewError("ToolError", "full"), "while writing")
	for i, c := range []struct {
		a, b Slot
		want bool
	}{
		{Nil, Nil, true}, {Int(1), Int(1), true}, {Int(1), Float(1), true}, {Int(1), Bool(true), false}, {Float(math.NaN()), Float(math.NaN()), false},
		{nan, nan, false}, {ArrayOf(Int(1)), ArrayOf(Float(1)), true}, {ArrayOf(Int(1)), ArrayOf(Int(1), Int(1)), false},
		{String("x"), Some(String("x")), true}, {Nil, Some(Nil), false}, {Some(Nil), Some(Nil), true}, {Some(Nil), Some(Some(Nil)), false},
		{m1.Slot(), m2.Slot(), true}, {closure, closure, true}, {closure, NewClosure(&Function{}), false},
		{Ok(Int(1)), Ok(Int(1)), true}, {Ok(Int(1)), Err(Int(1)), false}, {NewRange(1, 2), NewRange(1, 2), true},
		{NewError("ToolError", "a"), NewError("ToolError", "a"), true}, {NewError("ToolError", "a"), NewError("HostError", "a"), false},
		{wrapped, NewError("ToolError", "while writing: full"), true},
	} {
		if Equal(c.a, c.b) != c.want || Equal(c.b, c.a) != c.want {
			t.Errorf("case %d: Equal(%s, %s) is not %v", i, Text(c.a), Text(c.b), c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	e := WithContext(NewError("ToolError", "full"), "writing")
	if Message(e) != "writing: full" || ErrorKind(e) != "ToolError" || Message(Source(e)) != "full" || !Source(Source(e)).IsNil() {
		t.Error(Text(e), ErrorKind(e), Text(Source(e)))
	}
	if s := WithContext(Int(4), "so"); Message(s) != "so: 4" || ErrorKind(s) != "RuntimeError" || Source(s) != Int(4) {
		t.Error(Text(s))
	}
	own := &Type{Kind: TypeStruct, Name: "Mine", Fields: []Field{{Name: "message", Type: tString}}}
	if s := own.Struct(String("m")); Message(s) != "m" || ErrorKind(s) != "Mine" || IsError(s) {
		t.Error(Message(s), ErrorKind(s))
	}
	for _, kind := range ErrorTypes {
		s := NewError(kind.Name, "m")
		if len(s.Fields()) != len(kind.Fields)+1 || Message(s) != "m" || ErrorKind(s) != kind.Name {
			t.Error(kind.Name, Text(s))
		}
		for i, f := range kind.Fields {
			if v := s.Fields()[i]; v.IsNil() != (f.Type.Kind == TypeOption) {
				t.Errorf("field %s.%s of a new error = %s", kind.Name, f.Name, Text(v))
			}
		}
	}
	refused := Errorf("ToolError", "no").With("tool", String("x"))
	if got := string(AppendJSON(nil, refused.Slot())); got != `{"message":"no","kind":"ToolError","tool":"x"}` {
		t.Error(got)
	}
	if got := string(AppendJSON(nil, refused.With("reason", String("denied")).Slot())); got != `{"message":"no","kind":"ToolError","tool":"x","reason":"denied"}` {
		t.Error(got)
	}
	err := Errorf("ParseError", "no %s", "number").With("input", String("x"))
	if got := string(AppendJSON(nil, err.Slot())); got != `{"message":"no number","kind":"ParseError","input":"x"}` || err.Error() != "no number" {
		t.Error(got)
	}
}

func TestStrings(t *testing.T) {
	for _, text := range []string{"", "a", "hello", "né😀x", "😀", "ééééééééa"} {
		runes := []rune(text)
		x := String(text).Str()
		if x.Len() != len(runes) {
			t.Errorf("Len of %q = %d", text, x.Len())
		}
		for i := -1; i <= len(runes); i++ {
			s, ok := x.At(int64(i))
			if want := i >= 0 && i < len(runes); ok != want || ok && s.AsString() != string(runes[i]) {
				t.Errorf("%q[%d] = %v %v", text, i, s, ok)
			}
			for j := -1; j <= len(runes)+1; j++ {
				s, ok := x.Slice(int64(i), int64(j))
				if want := i >= 0 && i <= j && j <= len(runes); ok != want || ok && s.AsString() != string(runes[i:j]) {
					t.Errorf("%q[%d..%d] = %v", text, i, j, ok)
				}
			}
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b Slot
		want int
		ok   bool
	}{
		{Int(1), Int(2), -1, true}, {Int(math.MaxInt64), Int(math.MaxInt64 - 1), 1, true}, {Int(1), Float(1.5), -1, true},
		{String("a"), String("é"), -1, true}, {String("😀"), String("é"), 1, true}, {Float(math.NaN()), Float(0), -1, true},
		{Int(1), String("a"), 0, false}, {Nil, Nil, 0, false},
	} {
		got, ok := Compare(c.a, c.b)
		if got != c.want || ok != c.ok {
			t.Errorf("Compare(%s, %s) = %d, %v", Text(c.a), Text(c.b), got, ok)
		}
	}
}

func TestTypeNames(t *testing.T) {
	for _, c := range []struct {
		s    Slot
		want string
	}{
		{Nil, "Nil"}, {Int(1), "Int"}, {String(""), "String"}, {NewMap(0).Slot(), "Map"}, {Ok(Nil), "Result"}, {NewHandle("Memory", "", nil), "Memory"},
		{NewError("FsError", ""), "FsError"}, {NewClosure(&Function{}), "Function"},
	} {
		if got := TypeName(c.s); got != c.want {
			t.Errorf("text = %s, want %s", got, c.want)
		}
	}
	i := &Type{Kind: TypeInt}
	for want, typ := range map[string]*Type{
		"Map<Int, Array<Int>>": {Kind: TypeMap, Args: []*Type{i, {Kind: TypeArray, Args: []*Type{i}}}},
		"(Int, Any)":           {Kind: TypeTuple, Args: []*Type{i, AnyType}},
		`"a" | "b"`:            {Kind: TypeUnion, Values: []string{"a", "b"}},
		"Error":                {Kind: TypeError}, "P": {Kind: TypeStruct, Name: "P"}, "Agent": {Kind: TypeAgent},
	} {
		if typ.String() != want {
			t.Errorf("type = %s, want %s", typ, want)
		}
	}
}

// TestDeepValues checks that a value that is nested too deep is a fault of the program and does not
// crash the process.
func TestDeepValues(t *testing.T) {
	deep, other := ArrayOf(), ArrayOf()
	for range maxNesting + 10 {
		deep, other = ArrayOf(deep), ArrayOf(other)
	}
	fault := func(f func()) (text string) {
		defer func() { text = recover().(*Fault).Message }()
		f()
		return ""
	}
	for _, f := range []func(){func() { AppendJSON(nil, deep) }, func() { Text(deep) }, func() { Equal(deep, other) }, func() { Equal(deep, deep) }} {
		if got := fault(f); got != "the value is nested too deeply" {
			t.Error(got)
		}
	}
}

// TestTypeNameOf checks that TypeNameOf returns TypeName for every kind.
func TestTypeNameOf(t *testing.T) {
	for _, s := range []Slot{Nil, Int(1), Float(1), Bool(true), String("x"), ArrayOf(), NewMap(0).Slot(), Tuple(Int(1)), NewRange(0, 1), Ok(Nil),
		NewHandle("Memory", "m", nil), NewClosure(&Function{Name: "f"}), NewTypeDesc(&Type{}), NewCell(Nil), Some(Nil)} {
		if got := TypeNameOf(s); got.Kind() != KindString || got.AsString() != TypeName(s) {
			t.Errorf("TypeNameOf = %s, want %s", Text(got), TypeName(s))
		}
	}
}
