package diag

// Types and conversions.
var (
	Mismatch = &Info{
		Code: "E0301", Title: `wrong type`,
		Explain: "A value must be of the type wanted where it stands, or convert to it: an Int where a Float is wanted, a T where an Option<T> is.",
		Bad:     `fn f() -> Int { "one" }`,
		Good:    `fn f() -> Int { 1 }`,
		More: []Pair{
			{`fn load() -> Result<Int, String> { Ok(1) }
fn half(n: Int) -> Int { n / 2 }
fn main() { emit("n", half(load())); }`, `fn load() -> Result<Int, String> { Ok(1) }
fn half(n: Int) -> Int { n / 2 }
fn main() { emit("n", half(load()?)); }`},
			{`async fn load() -> Int { 1 }
fn main() { let n: Int = load(); emit("n", n); }`, `async fn load() -> Int { 1 }
fn main() { let n: Int = await load(); emit("n", n); }`},
			{`agent A uses demo { }
fn main() { let text: String = A.execute("go"); emit("text", text); }`, `agent A uses demo { }
fn main() { let text: String = A.execute("go")?.text; emit("text", text); }`},
			{`fn f(ok: Bool) -> Result<Int, String> { if ok { 5 } else { Err("no") } }`, `fn f(ok: Bool) -> Result<Int, String> { if ok { Ok(5) } else { Err("no") } }`},
			{`fn f(names: Array<String>) -> Bool { if names { true } else { false } }`, `fn f(names: Array<String>) -> Bool { if !names.is_empty() { true } else { false } }`},
			{`fn f(n: Int) -> Float { n.to_string() }`, `fn f(n: Int) -> String { n.to_string() }`},
			{`@allow(W0231) struct String { text: Int }
fn size(s: String) -> Int { s.text }
fn main() { emit("n", size("a")); }`, `struct Text { text: Int }
fn size(s: Text) -> Int { s.text }
fn main() { emit("n", size(Text { text: 1 })); }`},
			{`schema Person { name: String }
agent A uses demo { }
fn main() { let p: Person = A.execute("who?")?; emit("p", p); }`, `schema Person { name: String }
agent A uses demo { }
fn main() { let p: Person = A.execute_with_schema<Person>("who?")?; emit("p", p); }`},
		},
	}
	NoJoin = &Info{
		Code: "E0302", Title: `no common type`,
		Explain: "The elements of a literal and the branches of an if or match have one type: the join of theirs.",
		Bad:     `fn main() { let xs = [1, "two"]; emit("xs", xs); }`,
		Good:    `fn main() { let xs: Array<Any> = [1, "two"]; emit("xs", xs); }`,
		More: []Pair{
			{`fn main() { let r = if 1 > 0 { 5 } else { Err("no") }; emit("ok", r.is_ok()); }`, `fn main() { let r = if 1 > 0 { Ok(5) } else { Err("no") }; emit("ok", r.is_ok()); }`},
		},
	}
	CannotInfer = &Info{
		Code: "E0303", Title: `type cannot be inferred`,
		NoFix:   "only its author knows the type that is meant",
		Explain: "An empty literal, or a generic call whose arguments say nothing, needs an annotation or a later use that fixes its type.",
		Bad:     `fn main() { let xs = []; emit("n", xs.len()); }`,
		Good:    `fn main() { let xs: Array<Int> = []; emit("n", xs.len()); }`,
	}
	MissingValue = &Info{
		Code: "E0304", Title: `block without value`,
		Explain: "A block that must give a value ends with an expression, or never reaches its end.",
		Bad:     `fn f(n: Int) -> Int { n + 1; }`,
		Good:    `fn f(n: Int) -> Int { n + 1 }`,
	}
	MissingElse = &Info{
		Code: "E0305", Title: `if without else`,
		Explain: "An if that must give a value needs an else.",
		Bad:     `fn f(n: Int) -> Int { if n > 0 { 1 } }`,
		Good:    `fn f(n: Int) -> Int { if n > 0 { 1 } else { 0 } }`,
	}
	Operand = &Info{
		Code: "E0306", Title: `operator does not take these`,
		Explain: "Arithmetic takes numbers, `+` also two Strings or two arrays, `<` and its like numbers or Strings.",
		Bad:     `fn f() -> String { "n" + 1 }`,
		Good:    `fn f() -> String { "n${1}" }`,
		More: []Pair{
			{`fn load() -> Result<Int, String> { Ok(1) }
fn main() { emit("n", load() + 1); }`, `fn load() -> Result<Int, String> { Ok(1) }
fn main() { emit("n", load()? + 1); }`},
			{`fn main() { emit("n", [1].first() > 0); }`, `fn main() { emit("n", [1].first().unwrap_or(0) > 0); }`},
			{`async fn load() -> Int { 1 }
fn main() { emit("n", load() * 2); }`, `async fn load() -> Int { 1 }
fn main() { emit("n", await load() * 2); }`},
			{`fn main() { let mut n = 0; n += [1].first(); emit("n", n); }`, `fn main() { let mut n = 0; n += [1].first() ?? 0; emit("n", n); }`},
		},
	}
	NeverEqual = &Info{
		Code: "E0307", Title: `never equal`,
		Explain: "Values of types that share no value are never equal, so the comparison is a mistake.",
		Bad:     `fn f(n: Int) -> Bool { n == "1" }`,
		Good:    `fn f(n: Int) -> Bool { n == 1 }`,
		More: []Pair{
			{`fn load() -> Result<Int, String> { Ok(1) }
fn main() { if load() == 1 { emit("n", 1); } }`, `fn load() -> Result<Int, String> { Ok(1) }
fn main() { if load()? == 1 { emit("n", 1); } }`},
			{`async fn load() -> Int { 1 }
fn main() { if load() == 1 { emit("n", 1); } }`, `async fn load() -> Int { 1 }
fn main() { if await load() == 1 { emit("n", 1); } }`},
			{`fn f(n: Int) -> Bool { n == nil }`, `fn f(n: Int?) -> Bool { n == nil }`},
		},
	}
	NotOptional = &Info{
		Code: "E0308", Title: `never None`,
		Explain: "`??` replaces a None; on the left stands an Option.",
		Bad:     `fn f(n: Int) -> Int { n ?? 0 }`,
		Good:    `fn f(n: Option<Int>) -> Int { n ?? 0 }`,
	}
	NotInUnion = &Info{
		Code: "E0309", Title: `not in the union`,
		Explain: "A string-literal union holds the strings it lists.",
		Bad:     `fn f() -> "low" | "high" { "medium" }`,
		Good:    `fn f() -> "low" | "high" { "low" }`,
	}
	UnionMember = &Info{
		Code: "E0310", Title: `not a string literal`,
		NoFix:   "an enum in its place has names that its author chooses",
		Explain: "Unions are unions of string literals.",
		Bad:     `type T = "low" | Int;`,
		Good:    `type T = "low" | "high";`,
	}
	IntRange = &Info{
		Code: "E0311", Title: `number out of range`,
		Explain: "An Int has 64 bits.",
		Bad:     `fn f() -> Int { 9223372036854775808 }`,
		Good:    `fn f() -> Int { 9223372036854775807 }`,
	}
	BadCast = &Info{
		Code: "E0312", Title: `impossible cast`,
		Explain: "`as` converts Int to Float and back, checks an Any against a type, and a String against a union.",
		Bad:     `fn f(s: String) -> Int { s as Int }`,
		Good:    `fn f(s: String) -> Int { s.parse_int().unwrap_or(0) }`,
	}
	Undecodable = &Info{
		Code: "E0313", Title: `type cannot be made from data`,
		NoFix:   "only its author knows from which data the value is to be made",
		Explain: "What is decoded from JSON consists of scalars, arrays, maps with String keys, options, tuples, unions, schemas, structs and enums.",
		Bad:     `fn f(x: Any) -> fn(Int) -> Int { x as fn(Int) -> Int }`,
		Good:    `fn f(x: Any) -> Array<Int> { x as Array<Int> }`,
	}
	TypeArguments = &Info{
		Code: "E0314", Title: `wrong number of type arguments`,
		Explain: "A type takes as many arguments as its declaration has parameters.",
		Bad:     `fn f(xs: Array<Int, Int>) -> Int { 1 }`,
		Good:    `fn f(_xs: Array<Int>) -> Int { 1 }`,
	}
	MapKey = &Info{
		Code: "E0315", Title: `not a map key`,
		NoFix:   "only its author knows by what the values are to be found",
		Explain: "Keys of a map are String, Int or Bool.",
		Bad:     `fn f(m: Map<Float, Int>) -> Int { m.len() }`,
		Good:    `fn f(m: Map<Int, Int>) -> Int { m.len() }`,
	}
	NotIndexable = &Info{
		Code: "E0316", Title: `cannot be indexed`,
		NoFix:   "only its author knows what was to be read",
		Explain: "Arrays, maps and Strings are indexed; arrays and Strings sliced.",
		Bad:     `fn f(n: Int) -> Int { n[0] }`,
		Good:    `fn f(n: Array<Int>) -> Int { n[0] }`,
	}
	NotIterable = &Info{
		Code: "E0317", Title: `cannot be gone over`,
		Explain: "`for` goes over arrays, maps and ranges.",
		Bad:     `fn main() { for i in 3 { emit("i", i); } }`,
		Good:    `fn main() { for i in 0..3 { emit("i", i); } }`,
		More: []Pair{
			{`fn list() -> Result<Array<Int>, String> { Ok([1]) }
fn main() { for n in list() { emit("n", n); } }`, `fn list() -> Result<Array<Int>, String> { Ok([1]) }
fn main() { for n in list()? { emit("n", n); } }`},
			{`fn f(xs: Array<Int>?) { for x in xs { emit("x", x); } }`, `fn f(xs: Array<Int>?) { for x in xs.unwrap_or([]) { emit("x", x); } }`},
		},
	}
	NotAStruct = &Info{
		Code: "E0319", Title: `no named fields`,
		Explain: "Braces with fields make structs, schema values and variants with named fields.",
		Bad: `enum E { A(Int) }
fn main() { emit("e", E::A { x: 1 }); }`,
		Good: `enum E { A(Int) }
fn main() { emit("e", E::A(1)); }`,
	}
	MissingField = &Info{
		Code: "E0320", Title: `missing field`,
		Explain: "A struct literal gives every field without a default; a struct pattern names all fields or ends with `..`.",
		Bad: `struct P { x: Int, y: Int }
fn f() -> P { P { x: 1 } }`,
		Good: `struct P { x: Int, y: Int }
fn f() -> P { P { x: 1, y: 2 } }`,
	}
	QuestionOperand = &Info{
		Code: "E0322", Title: "`?` on neither Result nor Option",
		Explain: "`?` takes the value out of an Ok or Some and lets an Err or None leave.",
		Bad:     `fn f(n: Int) -> Int { n? }`,
		Good:    `fn f(n: Option<Int>) -> Int { n? }`,
		More: []Pair{
			{`async fn load() -> Result<Int, String> { Ok(1) }
fn main() { emit("n", load()?); }`, `async fn load() -> Result<Int, String> { Ok(1) }
fn main() { emit("n", await load()?); }`},
		},
	}
	QuestionKind = &Info{
		Code: "E0323", Title: "`?` has no place for this error",
		Explain: "An Err has no place in an Option, a None none in a Result whose error cannot say so.",
		Bad:     `fn f(r: Result<Int, String>) -> Option<Int> { Some(r? + 1) }`,
		Good:    `fn f(r: Result<Int, String>) -> Option<Int> { Some(r.ok()? + 1) }`,
	}
	ErrorConversion = &Info{
		Code: "E0324", Title: `error does not convert`,
		Explain: "`?` passes an error on when it is of the function's error type, or when an `impl From` converts it.",
		Bad: `fn a() -> Result<Int, String> { Err("x") }
fn b() -> Result<Int, ToolError> { Ok(a()? + 1) }`,
		Good: `fn a() -> Result<Int, String> { Err("x") }
fn b() -> Result<Int, String> { Ok(a()? + 1) }`,
	}
	BadFrom = &Info{
		Code: "E0325", Title: `incomplete From`,
		Explain: "An `impl From<A> for B` holds the one function that converts.",
		Bad: `struct B { s: String }
impl From<String> for B { fn make(s: String) -> B { B { s: s } } }`,
		Good: `struct B { s: String }
impl From<String> for B { fn from(s: String) -> B { B { s: s } } }`,
	}
	ThrowValue = &Info{
		Code: "E0326", Title: `cannot be thrown`,
		NoFix:   "only its author knows which error is meant",
		Explain: "An error is a value that says what went wrong.",
		Bad:     `fn main() { throw nil; }`,
		Good:    `fn main() { throw ToolError::new("broken"); }`,
	}
	VariantValue = &Info{
		Code: "E0327", Title: `variant without its values`,
		Explain: "A variant with a payload is made by giving it.",
		Bad: `enum E { A(Int) }
fn main() { emit("e", E::A); }`,
		Good: `enum E { A(Int) }
fn main() { emit("e", E::A(1)); }`,
	}
	EmitType = &Info{
		Code: "E0328", Title: `emit without answer`,
		Explain: "Only an awaited emit has an answer, so only it has a type for it.",
		Bad:     `fn main() { emit<Int>("n", 1); }`,
		Good:    `fn main() { let _n = await emit<Int>("n", 1); }`,
		More: []Pair{
			{`fn main() { let name = emit("ask", "your name?"); emit("name", name); }`, `fn main() { let name = await emit<String>("ask", "your name?"); emit("name", name.unwrap_or("")); }`},
		},
	}
	BoundNotMet = &Info{
		Code: "E0329", Title: `bound not met`,
		Explain: "A type argument implements the traits that its parameter is bound by.",
		Bad: `trait Show { fn show(self) -> String; }
fn f<T: Show>(x: T) -> String { x.show() }
fn main() { emit("x", f(1)); }`,
		Good: `trait Show { fn show(self) -> String; }
impl Show for Int { fn show(self) -> String { "int" } }
fn f<T: Show>(x: T) -> String { x.show() }
fn main() { emit("x", f(1)); }`,
	}
	AwaitedTasks = &Info{
		Code: "W0332", Title: `await of what holds tasks`,
		Explain: "`await` waits for one task. A collection of tasks is a value already: its tasks are awaited one by one, which takes no longer, since all of them have been started.",
		Bad: `async fn area(n: Int) -> Int { n * n }
fn main() { let tasks = [1, 2].map(|n| area(n)); emit("areas", (await tasks).len()); }`,
		Good: `async fn area(n: Int) -> Int { n * n }
fn main() { let tasks = [1, 2].map(|n| area(n)); emit("areas", tasks.map(|t| await t)); }`,
	}
	MethodAsKey = &Info{
		Code: "W0333", Title: `a map's method without its call`,
		Explain: "`m.name` reads the key `name` of a map. A method is called with parentheses; a key that is named like one is read by `m[\"len\"]`.",
		Bad:     `fn main() { let m = {"a": 1}; emit("n", m.len ?? 0); }`,
		Good:    `fn main() { let m = {"a": 1}; emit("n", m.len()); }`,
		More: []Pair{
			{`fn main() { let m = {"len": 1}; emit("n", m.len ?? 0); }`, `fn main() { let m = {"len": 1}; emit("n", m["len"]); }`},
		},
	}
	NegativeIndex = &Info{
		Code: "W0334", Title: `an index below 0`,
		Explain: "Elements are numbered from 0, and none has a number below that: the run would end with an error here.",
		Bad:     `fn main() { let xs = [1, 2]; emit("last", xs[-1]); }`,
		Good:    `fn main() { let xs = [1, 2]; emit("last", xs[xs.len() - 1]); }`,
	}
	PlainBraces = &Info{
		Code: "W0335", Title: "a variable's name in braces without `$`",
		Explain: "A value is put into text by `${name}`. Braces alone are characters like others.",
		Bad:     `fn main() { let name = "Ann"; emit("greeting", "Hello {name}"); }`,
		Good:    `fn main() { let name = "Ann"; emit("greeting", "Hello ${name}"); }`,
	}
	ShownWrapped = &Info{
		Code: "W0331", Title: `Result, Option or Task shown as it is`,
		Explain: "What is put into text, printed or emitted should be what a Result, Option or Task holds. A model that is handed a Result reads `{\"ok\": …}`, one that is handed a Task its number. An `Option<Any>`, as any member of JSON is, may be shown: nil is one of its values.",
		Bad: `agent Writer uses demo { }
agent Critic uses demo { }
fn main() { let text = Writer.execute("a line"); let _ = Critic.execute("judge: ${text}"); }`,
		Good: `agent Writer uses demo { }
agent Critic uses demo { }
fn main() { let text = Writer.execute("a line")?.text; let _ = Critic.execute("judge: ${text}"); }`,
		More: []Pair{
			{`fn main() { println([3, 1].first()); }`, `fn main() { println([3, 1].first() ?? "none"); }`},
			{`async fn sum() -> Int { 1 }
fn main() { emit("sum", sum()); }`, `async fn sum() -> Int { 1 }
fn main() { emit("sum", await sum()); }`},
		},
	}
	EndlessType = &Info{
		Code: "E0330", Title: `type without a finite value`,
		Explain: "A type whose every value holds another value of the type can never be made. Somewhere it has to end: an Option, an Array, a Map or a variant without one.",
		Bad: `struct Node { value: Int, next: Node }
fn main() { }`,
		Good: `struct Node { value: Int, next: Option<Node> }
fn main() { emit("n", Node { value: 1, next: None }); }`,
	}
)
