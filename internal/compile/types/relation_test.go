package types

import "testing"

// The types in the tables of the tests.
var (
	low     = &Union{Values: []string{"low"}}
	lowHigh = &Union{Values: []string{"low", "high"}}
	failure = &Named{Decl: &Decl{Name: "ToolError", Kind: ErrorStruct}}
	broken  = &Named{Decl: &Decl{Name: "ParseError", Kind: ErrorStruct}}
	point   = &Named{Decl: &Decl{Name: "Point", Kind: Struct}}
	writer  = &Declared{Kind: Agent, Name: "Writer", Origin: "Writer"}
	editor  = &Declared{Kind: Agent, Name: "Editor", Origin: "Editor"}
	worker  = &Declared{Kind: Host, Name: "Worker", Origin: "Worker"}
)

func arr(t Type) Type            { return &Array{t} }
func opt(t Type) Type            { return &Option{t} }
func res(a, b Type) Type         { return &Result{a, b} }
func dict(a, b Type) Type        { return &Map{Key: a, Value: b} }
func tup(ts ...Type) Type        { return &Tuple{ts} }
func fn(r Type, ps ...Type) Type { return &Func{ps, r} }

func TestConversion(t *testing.T) {
	for _, c := range []struct {
		from, to    Type
		ok, convert bool
	}{
		{Int, Int, true, false},
		{Int, Float, true, true},
		{Float, Int, false, false},
		{Int, String, false, false},
		{low, String, true, false},
		{String, low, false, false},
		{low, lowHigh, true, false},
		{lowHigh, low, false, false},
		{Int, opt(Int), true, true},
		{Int, opt(Float), true, true},
		{Nil, opt(Int), true, false},
		{opt(Int), opt(Float), false, true},
		{opt(low), opt(String), true, false},
		{opt(Int), opt(opt(Int)), true, true},
		{arr(Int), arr(Float), false, false},
		{arr(low), arr(String), true, false},
		{arr(Int), Any, true, true},
		{Any, point, true, true},
		{point, Nil, true, true},
		{Never, point, true, false},
		{failure, Error, true, false},
		{String, Error, true, false},
		{opt(Int), Error, false, false},
		{res(low, failure), res(String, Error), true, false},
		{res(Int, failure), res(Float, Error), false, false},
		{dict(String, low), dict(String, String), true, false},
		{tup(Int, low), tup(Int, String), true, false},
		{tup(Int), tup(Int, Int), false, false},
		{fn(low, String), fn(String, low), true, false},
		{fn(Int, low), fn(Int, String), false, false},
		{writer, Agent, true, false},
		{writer, Host, false, false},
		{point, failure, false, false},
	} {
		ok, convert := Conversion(c.from, c.to)
		if ok != c.ok || ok && convert != c.convert {
			t.Errorf("Conversion(%s, %s) = %v, %v; want %v, %v", c.from, c.to, ok, convert, c.ok, c.convert)
		}
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		a, b Type
		want string // "" if there is no join
	}{
		{Int, Int, "Int"},
		{Int, Float, "Float"},
		{Int, Nil, "Option<Int>"},
		{opt(Int), Nil, "Option<Int>"},
		{opt(Int), Int, "Option<Int>"},
		{opt(Int), Float, ""},
		{low, &Union{Values: []string{"other"}}, "String"},
		{low, lowHigh, `"low" | "high"`},
		{low, String, "String"},
		{failure, broken, "Error"},
		{failure, Error, "Error"},
		{Never, point, "Point"},
		{point, Any, "Any"},
		{Int, String, ""},
		{arr(low), arr(String), "Array<String>"},
		{arr(Int), arr(Float), ""},
		{res(Int, failure), res(Int, broken), "Result<Int, Error>"},
		{tup(Int, Int), tup(Int), ""},
		{point, failure, ""},
		{Bad, Int, "Int"},
		{writer, editor, "Agent"},
		{writer, Agent, "Agent"},
		{arr(writer), arr(editor), "Array<Agent>"},
		{writer, worker, ""},
	} {
		for range 2 {
			got, ok := Join(c.a, c.b)
			if ok != (c.want != "") || ok && got.String() != c.want {
				t.Errorf("Join(%s, %s) = %v, %v; want %q", c.a, c.b, got, ok, c.want)
			}
			c.a, c.b = c.b, c.a // a join does not depend on the order of the types
		}
	}
}

func TestTypeVariablesAreInferred(t *testing.T) {
	v := &Var{}
	if !Subtype(arr(v), arr(Int)) || Resolve(v) != Type(Int) {
		t.Fatalf("the variable in the array is bound to %v, want Int", Resolve(v))
	}
	if Subtype(arr(v), arr(String)) {
		t.Error("a variable that is bound to Int is accepted as another type")
	}
	w := &Var{}
	if Subtype(w, arr(w)) {
		t.Error("a variable was bound to a type that contains it")
	}
	if HasVar(arr(v)) || !HasVar(arr(w)) {
		t.Error("HasVar is true for a bound variable or false for an unbound one")
	}
}

func TestSubstitute(t *testing.T) {
	p := &Param{Name: "T"}
	generic := fn(opt(p), dict(String, arr(p)))
	got := Substitute(generic, map[*Param]Type{p: Int})
	if want := "fn(Map<String, Array<Int>>) -> Option<Int>"; got.String() != want {
		t.Errorf("substituted type = %s, want %s", got, want)
	}
	if got := Substitute(opt(p), map[*Param]Type{p: Any}); got != Type(AnyOption) {
		t.Errorf("Option<T> with Any for T = %s, want Option<Any>", got)
	}
	if plain := arr(Int); Substitute(plain, map[*Param]Type{p: Int}) != plain {
		t.Error("Substitute copies a type without type parameters")
	}
	if !HasParam(generic) || HasParam(got) {
		t.Error("HasParam returns the wrong result")
	}
}

// TestOptionOfAny checks that Any and Option<Any> are each accepted where the other is required,
// also in containers, because they have the same values. They must not be identical, because their
// methods differ.
func TestOptionOfAny(t *testing.T) {
	for _, c := range [][2]Type{{Any, AnyOption}, {AnyOption, Any}, {arr(Any), arr(AnyOption)}, {arr(AnyOption), arr(Any)}, {arr(Int), arr(AnyOption)}} {
		if !Subtype(c[0], c[1]) {
			t.Errorf("%s is not accepted where %s is required", c[0], c[1])
		}
	}
	if Identical(Any, AnyOption) {
		t.Error("Any and Option<Any> are identical")
	}
	if ok, convert := Conversion(AnyOption, Int); !ok || !convert {
		t.Error("an Option<Any> is accepted as an Int without conversion")
	}
	if !IsAny(&Option{&Var{Bound: Any}}) || IsAny(opt(Int)) || IsAny(&Option{AnyOption}) {
		t.Error("IsAny returns the wrong result")
	}
	if j, _ := Join(AnyOption, Int); j != Type(AnyOption) {
		t.Errorf("join of Option<Any> and Int = %s", j)
	}
}

func TestHashable(t *testing.T) {
	for _, k := range []Type{Int, Bool, String, low} {
		if !IsHashable(k) {
			t.Errorf("IsHashable(%s) = false", k)
		}
	}
	for _, k := range []Type{Float, arr(Int), point, opt(Int)} {
		if IsHashable(k) {
			t.Errorf("IsHashable(%s) = true", k)
		}
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		t    Type
		want string
	}{
		{fn(Nil, Int), "fn(Int)"},
		{fn(Int), "fn() -> Int"},
		{res(tup(Int, String), Error), "Result<(Int, String), Error>"},
		{&Task{arr(Int)}, "Task<Array<Int>>"},
		{&HashMap{String, Int}, "HashMap<String, Int>"},
		{&Named{Decl: &Decl{Name: "Pair"}, Args: []Type{Int, Bool}}, "Pair<Int, Bool>"},
		{writer, "Agent"},
		{&Var{}, "_"},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("type as text = %s, want %s", got, c.want)
		}
	}
}
