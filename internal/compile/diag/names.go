package diag

// Declarations and uses of names.
var (
	UnknownName = &Info{
		Code: "E0201", Title: `unknown name`,
		Explain: "A name must be declared before it can be read: a variable, parameter, function, constant or other declaration in reach.",
		Bad:     `fn main() { emit("n", cuont); }`,
		Good:    `fn main() { let count = 1; emit("n", count); }`,
		More: []Pair{
			{`fn main() { emit("text", Writer.execute("go")?.text); }`, `agent Writer uses demo { }
fn main() { emit("text", Writer.execute("go")?.text); }`},
			{`fn main() { let r = listen Coder.execute("go") { "approval" => |a| "yes" }; emit("ok", r.is_ok()); }`, `host Coder { connector: worker, question_default: "" }
fn main() { let r = listen Coder.execute("go") { "approval" => |a| "yes" }; emit("ok", r.is_ok()); }`},
			{`fn main() { emit("n", Adder.add(1, 2)); }`, `tool Adder { description: "Adds.", fn add(self, a: Int, b: Int) -> Int { a + b } }
fn main() { emit("n", Adder.add(1, 2)); }`},
			{`agent A uses demo { memory: talk }`, `memory talk: Memory = Memory::new();
agent A uses demo { memory: talk }`},
			{`agent A uses demo { tools: [Search] }`, `tool Search { description: "Finds.", fn find(self) -> String { "" } }
agent A uses demo { tools: [Search] }`},
			{`fn main() { emit("found", notes.query().from_key("x").len()); }`, `ledger notes: Ledger = Ledger::new();
fn main() { emit("found", notes.query().from_key("x").len()); }`},
			{`fn main() { let last: Int? = null; emit("last", last.is_none()); }`, `fn main() { let last: Int? = nil; emit("last", last.is_none()); }`},
			{`fn main() { emit("n", lenn("go")); }`, `fn main() { emit("n", len("go")); }`},
		},
	}
	UnknownType = &Info{
		Code: "E0202", Title: `unknown type`,
		Explain: "A type is one of the built-in ones, or declared by struct, schema, enum or type.",
		Bad:     `fn f(n: Integer) -> Bool { n == 1 }`,
		Good:    `fn f(n: Int) -> Bool { n == 1 }`,
		More: []Pair{
			{`fn f(xs: List<Int>) -> Int { 1 }`, `fn f(_xs: Array<Int>) -> Int { 1 }`},
			{`fn f() -> void { emit("x", 1); }`, `fn f() { emit("x", 1); }`},
			{`fn f(d: Dict<String, Int>) -> Int { 1 }`, `fn f(d: Map<String, Int>) -> Int { d.len() }`},
		},
	}
	UnknownPath = &Info{
		Code: "E0203", Title: `unknown path`,
		Explain: "A path leads through a type, or through `std`, to something declared there.",
		Bad:     `fn main() { emit("x", Shape::Circle); }`,
		Good: `enum Shape { Circle }
fn main() { emit("x", Shape::Circle); }`,
		More: []Pair{
			{`fn main() { let mut xs = Vec::new(); xs.push(1); emit("xs", xs); }`, `fn main() { let mut xs = []; xs.push(1); emit("xs", xs); }`},
			{`fn main() { emit("x", math::sqrt(4.0)); }`, `fn main() { emit("x", std::math::sqrt(4.0)); }`},
		},
	}
	UnknownField = &Info{
		Code: "E0204", Title: `unknown field`,
		Explain: "A struct, schema or error has the fields that its declaration lists.",
		Bad: `struct P { name: String }
fn f(p: P) -> String { p.nmae }`,
		Good: `struct P { name: String }
fn f(p: P) -> String { p.name }`,
		More: []Pair{
			{`struct P { x: Int }
async fn load() -> P { P { x: 1 } }
fn main() { emit("x", load().x); }`, `struct P { x: Int }
async fn load() -> P { P { x: 1 } }
fn main() { emit("x", load().await.x); }`},
			{`agent A uses demo { }
fn main() { emit("text", A.execute("go").text); }`, `agent A uses demo { }
fn main() { emit("text", A.execute("go")?.text); }`},
			{`fn f(xs: Array<Int>) -> Int { xs.length }`, `fn f(xs: Array<Int>) -> Int { xs.len() }`},
		},
	}
	UnknownVariant = &Info{
		Code: "E0205", Title: `unknown variant`,
		Explain: "An enum has the variants that its declaration lists.",
		Bad: `enum Level { Low, High }
fn main() { emit("l", Level::Hihg); }`,
		Good: `enum Level { Low, High }
fn main() { emit("l", Level::High); }`,
	}
	UnknownMethod = &Info{
		Code: "E0206", Title: `unknown method`,
		Explain: "A method belongs to the type it is called on: from an impl, or from the library.",
		Bad:     `fn f(s: String) -> String { s.upper_case() }`,
		Good:    `fn f(s: String) -> String { s.to_upper() }`,
		More: []Pair{
			{`host W { connector: worker, question_default: "" }
fn main() { let _r = W.listen("go"); }`, `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`},
			{`fn f(r: Result<Int, String>) -> Result<Int, Int> { r.mapErr(|e| e.len()) }`, `fn f(r: Result<Int, String>) -> Result<Int, Int> { r.map_err(|e| e.len()) }`},
			{`fn main() { let mut xs = [1]; xs.push_back(2); emit("xs", xs); }`, `fn main() { let mut xs = [1]; xs.push(2); emit("xs", xs); }`},
			{`fn f(xs: Array<Int>) -> Int? { xs.max_by(|x| -x) }`, `fn f(xs: Array<Int>) -> Int? { xs.max_by_key(|x| -x) }`},
			{`async fn load() -> Int { -1 }
fn main() { emit("n", load().abs()); }`, `async fn load() -> Int { -1 }
fn main() { emit("n", load().await.abs()); }`},
			{`fn f(s: String?) -> String { s.trim() }`, `fn f(s: String?) -> String { (s ?? "").trim() }`},
		},
	}
	UnknownParameter = &Info{
		Code: "E0207", Title: `unknown parameter`,
		Explain: "A named argument names a parameter of the function.",
		Bad: `fn box(w: Int, h: Int = 1) -> Int { w * h }
fn main() { emit("b", box(2, hight: 3)); }`,
		Good: `fn box(w: Int, h: Int = 1) -> Int { w * h }
fn main() { emit("b", box(2, h: 3)); }`,
	}
	UnknownLabel = &Info{
		Code: "E0208", Title: `unknown label`,
		Explain: "A label after break or continue names a loop around it.",
		Bad:     `fn main() { for i in 0..3 { if i == 1 { break 'outer; } } }`,
		Good:    `fn main() { 'outer: for i in 0..3 { if i == 1 { break 'outer; } } }`,
	}
	UnknownDecorator = &Info{
		Code: "E0209", Title: `unknown decorator`,
		Explain: "Decorators are the ones of the language; there are no others.",
		Bad: `@tset
fn t() { }`,
		Good: `@test
fn t() { }`,
	}
	DuplicateName = &Info{
		Code: "E0210", Title: `declared twice`,
		NoFix:   "only its author knows which of the two is meant where the name stands",
		Explain: "One name stands for one thing in its scope.",
		Bad: `fn a() -> Int { 1 }
fn a() -> Int { 2 }`,
		Good: `fn a() -> Int { 1 }
fn b() -> Int { 2 }`,
		More: []Pair{{`enum Shape { Dot, Circle(Int) }
impl Shape { fn Dot() -> Int { 1 } }`, `enum Shape { Dot, Circle(Int) }
impl Shape { fn dots() -> Int { 1 } }`}},
	}
	DuplicateField = &Info{
		Code: "E0211", Title: `field twice`,
		Explain: "A field is declared, or given, once.",
		Bad:     `struct P { x: Int, x: Int }`,
		Good:    `struct P { x: Int, y: Int }`,
		More:    []Pair{{`const SIZES = { small: 1, small: 2 };`, `const SIZES = { small: 1, large: 2 };`}},
	}
	NotAType = &Info{
		Code: "E0212", Title: `not a type`,
		NoFix:   "only its author knows the type that is meant",
		Explain: "Only a type can stand where a type is wanted.",
		Bad: `fn area() -> Int { 1 }
fn f(x: area) -> Int { 1 }`,
		Good: `fn area() -> Int { 1 }
fn f(_x: Int) -> Int { area() }`,
	}
	NotAValue = &Info{
		Code: "E0213", Title: `not a value`,
		Explain: "A type or a library function of a special form is no value to pass around.",
		Bad: `struct P { x: Int }
fn main() { emit("p", P); }`,
		Good: `struct P { x: Int }
fn main() { emit("p", P { x: 1 }); }`,
	}
	AliasCycle = &Info{
		Code: "E0214", Title: `type stands for itself`,
		NoFix:   "only its author knows what the type is made of",
		Explain: "A type alias names another type; it cannot name itself.",
		Bad: `type A = B;
type B = A;`,
		Good: `type A = Array<Int>;
type B = A;`,
	}
	ConstCycle = &Info{
		Code: "E0215", Title: `constant defined by itself`,
		NoFix:   "only its author knows the value",
		Explain: "A constant is computed from literals and other constants, not from itself.",
		Bad: `const A: Int = B + 1;
const B: Int = A;`,
		Good: `const A: Int = B + 1;
const B: Int = 1;`,
	}
	NotConstant = &Info{
		Code: "E0216", Title: `not a constant`,
		NoFix:   "a value that is known only at run time needs another place, which its author chooses",
		Explain: "A constant expression is made of literals, operators, constants and names of declarations.",
		Bad: `fn f() -> Int { 1 }
const A: Int = f();`,
		Good: `const A: Int = 1;`,
	}
	ConstZero = &Info{
		Code: "E0217", Title: `division by zero in a constant`,
		NoFix:   "only its author knows what is to be divided by",
		Explain: "A constant is computed when compiling, so dividing by zero is found there.",
		Bad:     `const A: Int = 1 / 0;`,
		Good:    `const A: Int = 1 / 2;`,
	}
	DecoratorPlace = &Info{
		Code: "E0218", Title: `decorator out of place`,
		Explain: "Each decorator belongs to certain declarations.",
		Bad: `@expect_fail
fn t() { }`,
		Good: `@test
@expect_fail
fn t() { panic("x"); }`,
	}
	UnusedVariable = &Info{
		Unnecessary: true,
		Code:        "W0220", Title: `unused variable`,
		Explain: "A variable that nothing reads is often a slip. A name that begins with `_` says that it is meant.",
		Bad:     `fn main() { let n = 1; }`,
		Good:    `fn main() { let _n = 1; }`,
	}
	UnknownTrait = &Info{
		Code: "E0221", Title: `unknown trait`,
		Explain: "A bound, or what an impl implements, is a trait that is declared.",
		Bad:     `fn f<T: Shwo>(x: T) -> T { x }`,
		Good: `trait Show { fn show(self) -> String; }
fn f<T: Show>(x: T) -> T { x }`,
	}
	MissingMethod = &Info{
		Code: "E0222", Title: `trait not implemented in full`,
		Explain: "An impl of a trait declares every method that the trait has no default for.",
		Bad: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { }`,
		Good: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "${self.x}" } }`,
	}
	ExtraMethod = &Info{
		Code: "E0223", Title: `method that the trait does not have`,
		Explain: "An impl of a trait declares the methods of the trait; others go into an impl of the type alone.",
		Bad: `trait Show { fn show(self) -> String { "" } }
struct P { x: Int }
impl Show for P { fn print(self) -> String { "${self.x}" } }`,
		Good: `trait Show { fn show(self) -> String { "" } }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "${self.x}" } }`,
	}
	MethodSignature = &Info{
		Code: "E0224", Title: `method unlike its trait's`,
		Explain: "A method of a trait has the parameters and the result that the trait declares.",
		Bad: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> Int { self.x } }`,
		Good: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "${self.x}" } }`,
	}
	DuplicateImpl = &Info{
		Code: "E0225", Title: `trait implemented twice`,
		Explain: "A trait has one impl for a type, whatever the type's arguments: they are gone at run time.",
		Bad: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "a" } }
impl Show for P { fn show(self) -> String { "b" } }`,
		Good: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "a" } }`,
	}
	Private = &Info{
		Code: "E0226", Title: `private`,
		Explain: "What is not `pub` is seen only in its module and the modules within.",
		Bad: `mod vault { fn secret() -> Int { 42 } }
fn main() { emit("s", vault::secret()); }`,
		Good: `mod vault { pub fn secret() -> Int { 42 } }
fn main() { emit("s", vault::secret()); }`,
	}
	ModuleFile = &Info{
		Code: "E0227", Title: `no file for the module`,
		Explain: "`mod x;` reads x.conc or x/mod.conc beside the module that declares it.",
		Bad:     `mod nowhere;`,
		Good:    `mod somewhere { }`,
	}
	ImportCycle = &Info{
		Code: "E0228", Title: `import of itself`,
		NoFix:   "only its author knows where the name is to come from",
		Explain: "An import names something that is declared; it cannot lead back to itself.",
		Bad: `mod a { pub use b::x; }
mod b { pub use a::x; }
fn main() { a::x(); }`,
		Good: `mod a { pub use b::x; }
mod b { pub fn x() { } }
fn main() { a::x(); }`,
	}
	HidesLibrary = &Info{
		Code: "W0231", Title: `name of the library hidden`,
		NoFix:   "a new name goes to every use, which is a rename and no repair",
		Explain: "A declaration, or a `let`, may take a name of the library. The library's own cannot be used then, and messages that show the name leave open which is meant.",
		Bad: `struct Response { code: Int }
fn main() { emit("r", Response { code: 1 }); }`,
		Good: `struct Reply { code: Int }
fn main() { emit("r", Reply { code: 1 }); }`,
		More: []Pair{
			{`fn main() { let println = 3; emit("n", println); }`, `fn main() { let lines = 3; emit("n", lines); }`},
		},
	}
	UnusedImport = &Info{
		Unnecessary: true,
		Code:        "W0230", Title: `unused import`,
		Explain: "An import that nothing uses is noise.",
		Bad: `use std::json;
fn main() { emit("x", 1); }`,
		Good: `use std::json;
fn main() { emit("x", json::stringify(1)); }`,
	}
	FileCycle = &Info{
		Code: "E0229", Title: `files use each other`,
		NoFix:   "only its author knows in which of the files what both use belongs",
		Explain: "Each file is read before those that use it, so files do not use each other in a circle.",
	}
)
