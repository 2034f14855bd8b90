package diag

// Types and conversions.
var (
	Mismatch = &Info{
		Code: "E0301", Title: `mismatched types`, Noise: NotNoise,
		Explain: "A value must have the expected type or convert to it. An Int converts to Float, and a T to Option<T>.",
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
		Code: "E0302", Title: `incompatible types`, Noise: NotNoise,
		Explain: "The elements of a literal, and the branches of an if or match, must have a common type.",
		Bad:     `fn main() { let xs = [1, "two"]; emit("xs", xs); }`,
		Good:    `fn main() { let xs: Array<Any> = [1, "two"]; emit("xs", xs); }`,
		More: []Pair{
			{`fn main() { let r = if 1 > 0 { 5 } else { Err("no") }; emit("ok", r.is_ok()); }`, `fn main() { let r = if 1 > 0 { Ok(5) } else { Err("no") }; emit("ok", r.is_ok()); }`},
		},
	}
	CannotInfer = &Info{
		Code: "E0303", Title: `cannot infer the type`, Noise: InFlawedBody,
		NoFix:   "the intended type is unknown",
		Explain: "The type of an empty literal, or of a generic call whose arguments do not determine it, must follow from an annotation or from a later use.",
		Bad:     `fn main() { let xs = []; emit("n", xs.len()); }`,
		Good:    `fn main() { let xs: Array<Int> = []; emit("n", xs.len()); }`,
	}
	MissingValue = &Info{
		Code: "E0304", Title: `block without a value`, Noise: InFlawedBody,
		Explain: "A block whose value is used must end with an expression, or leave with return, throw or a similar statement.",
		Bad:     `fn f(n: Int) -> Int { n + 1; }`,
		Good:    `fn f(n: Int) -> Int { n + 1 }`,
	}
	MissingElse = &Info{
		Code: "E0305", Title: "`if` without `else`", Noise: InFlawedBody,
		Explain: "An `if` whose value is used needs an `else`.",
		Bad:     `fn f(n: Int) -> Int { if n > 0 { 1 } }`,
		Good:    `fn f(n: Int) -> Int { if n > 0 { 1 } else { 0 } }`,
	}
	Operand = &Info{
		Code: "E0306", Title: `invalid operand types`, Noise: NotNoise,
		Explain: "Arithmetic operators take numbers. `+` also takes two Strings or two arrays. `<`, `<=`, `>` and `>=` take numbers or Strings.",
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
		Code: "E0307", Title: `comparison is always false or always true`, Noise: NotNoise,
		Explain: "Values of these two types are never equal, so the comparison has no purpose.",
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
		Code: "E0308", Title: "left side of `??` is never None", Noise: NotNoise,
		Explain: "`??` replaces None by another value, so its left side must be an Option.",
		Bad:     `fn f(n: Int) -> Int { n ?? 0 }`,
		Good:    `fn f(n: Option<Int>) -> Int { n ?? 0 }`,
	}
	NotInUnion = &Info{
		Code: "E0309", Title: `string is not in the union`, Noise: NotNoise,
		Explain: "A value of a string-literal union must be one of the listed strings.",
		Bad:     `fn f() -> "low" | "high" { "medium" }`,
		Good:    `fn f() -> "low" | "high" { "low" }`,
	}
	UnionMember = &Info{
		Code: "E0310", Title: `union member is not a string literal`, Noise: NotNoise,
		NoFix:   "an enum needs names for its variants",
		Explain: "A union can contain only string literals.",
		Bad:     `type T = "low" | Int;`,
		Good:    `type T = "low" | "high";`,
	}
	IntRange = &Info{
		Code: "E0311", Title: `integer out of range`, Noise: NotNoise,
		Explain: "An Int has 64 bits.",
		Bad:     `fn f() -> Int { 9223372036854775808 }`,
		Good:    `fn f() -> Int { 9223372036854775807 }`,
	}
	BadCast = &Info{
		Code: "E0312", Title: `invalid cast`, Noise: NotNoise,
		Explain: "`as` converts between Int and Float, checks an Any against a type, and checks a String against a union.",
		Bad:     `fn f(s: String) -> Int { s as Int }`,
		Good:    `fn f(s: String) -> Int { s.parse_int().unwrap_or(0) }`,
	}
	Undecodable = &Info{
		Code: "E0313", Title: `type cannot be decoded`, Noise: NotNoise,
		NoFix:   "which data describes the value is unknown",
		Explain: "Values decoded from JSON consist of scalars, arrays, maps with String keys, options, tuples, unions, schemas, structs and enums.",
		Bad:     `fn f(x: Any) -> fn(Int) -> Int { x as fn(Int) -> Int }`,
		Good:    `fn f(x: Any) -> Array<Int> { x as Array<Int> }`,
	}
	TypeArguments = &Info{
		Code: "E0314", Title: `wrong number of type arguments`, Noise: AfterLostHeader | InFlawedType,
		Explain: "The number of type arguments must match the type parameters of the declaration.",
		Bad:     `fn f(xs: Array<Int, Int>) -> Int { 1 }`,
		Good:    `fn f(_xs: Array<Int>) -> Int { 1 }`,
	}
	MapKey = &Info{
		Code: "E0315", Title: `invalid map key type`, Noise: NotNoise,
		NoFix:   "the intended key is unknown",
		Explain: "The keys of a map must be String, Int or Bool.",
		Bad:     `fn f(m: Map<Float, Int>) -> Int { m.len() }`,
		Good:    `fn f(m: Map<Int, Int>) -> Int { m.len() }`,
	}
	NotIndexable = &Info{
		Code: "E0316", Title: `value cannot be indexed`, Noise: NotNoise,
		NoFix:   "the intended element is unknown",
		Explain: "Arrays, maps and Strings can be indexed. Arrays and Strings can be sliced.",
		Bad:     `fn f(n: Int) -> Int { n[0] }`,
		Good:    `fn f(n: Array<Int>) -> Int { n[0] }`,
	}
	NotIterable = &Info{
		Code: "E0317", Title: `value is not iterable`, Noise: NotNoise,
		Explain: "`for` iterates over arrays, maps, ranges and other collections.",
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
		Code: "E0319", Title: `type without named fields`, Noise: NotNoise,
		Explain: "`Name { field: value }` creates structs, schema values and enum variants with named fields.",
		Bad: `enum E { A(Int) }
fn main() { emit("e", E::A { x: 1 }); }`,
		Good: `enum E { A(Int) }
fn main() { emit("e", E::A(1)); }`,
	}
	MissingField = &Info{
		Code: "E0320", Title: `missing field`, Noise: InFlawedFields,
		Explain: "A struct literal must contain every field that has no default. A struct pattern must name all fields or end with `..`.",
		Bad: `struct P { x: Int, y: Int }
fn f() -> P { P { x: 1 } }`,
		Good: `struct P { x: Int, y: Int }
fn f() -> P { P { x: 1, y: 2 } }`,
	}
	QuestionOperand = &Info{
		Code: "E0322", Title: "`?` on a value that is neither Result nor Option", Noise: NotNoise,
		Explain: "`?` takes the value out of an Ok or Some, and returns an Err or None from the function.",
		Bad:     `fn f(n: Int) -> Int { n? }`,
		Good:    `fn f(n: Option<Int>) -> Int { n? }`,
		More: []Pair{
			{`async fn load() -> Result<Int, String> { Ok(1) }
fn main() { emit("n", load()?); }`, `async fn load() -> Result<Int, String> { Ok(1) }
fn main() { emit("n", await load()?); }`},
		},
	}
	QuestionKind = &Info{
		Code: "E0323", Title: "`?` is incompatible with the result type", Noise: NotNoise,
		Explain: "`?` on a Result needs a function that can return the error, and `?` on an Option one that can return None.",
		Bad:     `fn f(r: Result<Int, String>) -> Option<Int> { Some(r? + 1) }`,
		Good:    `fn f(r: Result<Int, String>) -> Option<Int> { Some(r.ok()? + 1) }`,
	}
	UncaughtQuestion = &Info{
		Code: "W0414", Title: "`?` whose error nothing catches", Noise: NotNoise,
		NoFix:   "callers must handle the Result of the new signature",
		Explain: "In a function that returns no Result, `?` raises the error. If nothing in the program catches errors, it ends the program. To pass the error to the caller, return a Result.",
		Bad: `fn number(text: String) -> Int { text.parse_int()? }
fn main() { emit("n", number("7")); }`,
		Good: `fn number(text: String) -> Result<Int, ParseError> { text.parse_int() }
fn main() { emit("n", number("7")?); }`,
	}
	ErrorConversion = &Info{
		Code: "E0324", Title: `no conversion between error types`, Noise: NotNoise,
		Explain: "`?` can return an error of the function's error type, or one that an `impl From` converts to it.",
		Bad: `fn a() -> Result<Int, String> { Err("x") }
fn b() -> Result<Int, ToolError> { Ok(a()? + 1) }`,
		Good: `fn a() -> Result<Int, String> { Err("x") }
fn b() -> Result<Int, String> { Ok(a()? + 1) }`,
	}
	BadFrom = &Info{
		Code: "E0325", Title: "incomplete `impl From`", Noise: NotNoise,
		Explain: "An `impl From<A> for B` contains exactly one function, `from`.",
		Bad: `struct B { s: String }
impl From<String> for B { fn make(s: String) -> B { B { s: s } } }`,
		Good: `struct B { s: String }
impl From<String> for B { fn from(s: String) -> B { B { s: s } } }`,
	}
	ThrowValue = &Info{
		Code: "E0326", Title: `value cannot be thrown`, Noise: NotNoise,
		NoFix:   "the intended error is unknown",
		Explain: "The operand of `throw` must be an error, or plain data that describes one.",
		Bad:     `fn main() { throw nil; }`,
		Good:    `fn main() { throw ToolError::new("broken"); }`,
	}
	VariantValue = &Info{
		Code: "E0327", Title: `missing values of a variant`, Noise: NotNoise,
		Explain: "A variant with a payload must be created with its values.",
		Bad: `enum E { A(Int) }
fn main() { emit("e", E::A); }`,
		Good: `enum E { A(Int) }
fn main() { emit("e", E::A(1)); }`,
	}
	EmitType = &Info{
		Code: "E0328", Title: "`emit` without an answer", Noise: NotNoise,
		Explain: "Only an awaited `emit` returns an answer, so only it can have a type argument.",
		Bad:     `fn main() { emit<Int>("n", 1); }`,
		Good:    `fn main() { let _n = await emit<Int>("n", 1); }`,
		More: []Pair{
			{`fn main() { let name = emit("ask", "your name?"); emit("name", name); }`, `fn main() { let name = await emit<String>("ask", "your name?"); emit("name", name.unwrap_or("")); }`},
		},
	}
	BoundNotMet = &Info{
		Code: "E0329", Title: `trait bound not satisfied`, Noise: NotNoise,
		Explain: "A type argument must implement the traits that bound its type parameter.",
		Bad: `trait Show { fn show(self) -> String; }
fn f<T: Show>(x: T) -> String { x.show() }
fn main() { emit("x", f(1)); }`,
		Good: `trait Show { fn show(self) -> String; }
impl Show for Int { fn show(self) -> String { "int" } }
fn f<T: Show>(x: T) -> String { x.show() }
fn main() { emit("x", f(1)); }`,
		More: []Pair{{
			`fn most<T: Ord>(a: T, b: T) -> T { if a < b { b } else { a } }
fn main() { emit("x", most([1], [2])); }`,
			`fn most<T: Ord>(a: T, b: T) -> T { if a < b { b } else { a } }
fn main() { emit("x", most(1, 2)); }`,
		}},
	}
	AwaitedTasks = &Info{
		Code: "W0332", Title: "`await` on a collection of tasks", Noise: NotNoise,
		Explain: "`await` waits for one task. To wait for a collection of tasks, await each of them. They all run already, so this takes no longer.",
		Bad: `async fn area(n: Int) -> Int { n * n }
fn main() { let tasks = [1, 2].map(|n| area(n)); emit("areas", (await tasks).len()); }`,
		Good: `async fn area(n: Int) -> Int { n * n }
fn main() { let tasks = [1, 2].map(|n| area(n)); emit("areas", tasks.map(|t| await t)); }`,
	}
	MethodAsKey = &Info{
		Code: "W0333", Title: `method of a map used as a key`, Noise: NotNoise,
		Explain: "`m.name` reads the key `name` of a map. Add parentheses to call a method. Write `m[\"len\"]` to read a key that has the name of a method.",
		Bad:     `fn main() { let m = {"a": 1}; emit("n", m.len ?? 0); }`,
		Good:    `fn main() { let m = {"a": 1}; emit("n", m.len()); }`,
		More: []Pair{
			{`fn main() { let m = {"len": 1}; emit("n", m.len ?? 0); }`, `fn main() { let m = {"len": 1}; emit("n", m["len"]); }`},
		},
	}
	NegativeIndex = &Info{
		Code: "W0334", Title: `negative index`, Noise: NotNoise,
		Explain: "Indices start at 0. A negative index always fails at run time.",
		Bad:     `fn main() { let xs = [1, 2]; emit("last", xs[-1]); }`,
		Good:    `fn main() { let xs = [1, 2]; emit("last", xs[xs.len() - 1]); }`,
	}
	PlainBraces = &Info{
		Code: "W0335", Title: "name in braces without `$`", Noise: NotNoise,
		Explain: "`${name}` inserts a value into a string. Braces without `$` are ordinary characters.",
		Bad:     `fn main() { let name = "Ann"; emit("greeting", "Hello {name}"); }`,
		Good:    `fn main() { let name = "Ann"; emit("greeting", "Hello ${name}"); }`,
	}
	ShownWrapped = &Info{
		Code: "W0331", Title: `Result, Option or Task used as text`, Noise: NotNoise,
		Explain: "Text, output and emitted values should contain the value inside a Result, Option or Task. Otherwise a model reads `{\"ok\": …}` for a Result, or the number of a Task. `Option<Any>`, such as a member of a JSON object, is accepted because nil is one of its values.",
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
		Code: "E0330", Title: `recursive type of infinite size`, Noise: NotNoise,
		Explain: "A value of this type would contain another value of the same type without end. To end the recursion, use an Option, an Array or a Map, or an enum with a variant that does not contain the type.",
		Bad: `struct Node { value: Int, next: Node }
fn main() { }`,
		Good: `struct Node { value: Int, next: Option<Node> }
fn main() { emit("n", Node { value: 1, next: None }); }`,
	}
)
