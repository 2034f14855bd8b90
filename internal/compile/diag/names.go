package diag

// Declarations and uses of names.
var (
	UnknownName = &Info{
		Code: "E0201", Title: `unknown name`, Noise: AfterLostName,
		Explain: "A name must refer to a variable, parameter, function, constant or other declaration that is in scope.",
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
		Code: "E0202", Title: `unknown type`, Noise: AfterLostName,
		Explain: "A type is either built in or declared with struct, schema, enum or type.",
		Bad:     `fn f(n: Integer) -> Bool { n == 1 }`,
		Good:    `fn f(n: Int) -> Bool { n == 1 }`,
		More: []Pair{
			{`fn f(xs: List<Int>) -> Int { 1 }`, `fn f(_xs: Array<Int>) -> Int { 1 }`},
			{`fn f() -> void { emit("x", 1); }`, `fn f() { emit("x", 1); }`},
			{`fn f(d: Dict<String, Int>) -> Int { 1 }`, `fn f(d: Map<String, Int>) -> Int { d.len() }`},
		},
	}
	UnknownPath = &Info{
		Code: "E0203", Title: `unknown path`, Noise: AfterLostName,
		Explain: "A path names a declaration inside a type, or inside a module of `std`.",
		Bad:     `fn main() { emit("x", Shape::Circle); }`,
		Good: `enum Shape { Circle }
fn main() { emit("x", Shape::Circle); }`,
		More: []Pair{
			{`fn main() { let mut xs = Vec::new(); xs.push(1); emit("xs", xs); }`, `fn main() { let mut xs = []; xs.push(1); emit("xs", xs); }`},
			{`fn main() { emit("x", math::sqrt(4.0)); }`, `fn main() { emit("x", std::math::sqrt(4.0)); }`},
		},
	}
	UnknownField = &Info{
		Code: "E0204", Title: `unknown field`, Noise: AfterLostName,
		Explain: "A struct, schema or error has only the fields that its declaration lists.",
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
		Code: "E0205", Title: `unknown variant`, Noise: AfterLostName,
		Explain: "An enum has only the variants that its declaration lists.",
		Bad: `enum Level { Low, High }
fn main() { emit("l", Level::Hihg); }`,
		Good: `enum Level { Low, High }
fn main() { emit("l", Level::High); }`,
	}
	UnknownMethod = &Info{
		Code: "E0206", Title: `unknown method`, Noise: AfterLostName | AfterLostHeader,
		Explain: "The type of the value does not have this method. Methods are declared in an `impl` block or in the standard library.",
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
		Code: "E0207", Title: `unknown parameter`, Noise: AfterLostName | AfterLostHeader,
		Explain: "A named argument must use the name of one of the function's parameters.",
		Bad: `fn box(w: Int, h: Int = 1) -> Int { w * h }
fn main() { emit("b", box(2, hight: 3)); }`,
		Good: `fn box(w: Int, h: Int = 1) -> Int { w * h }
fn main() { emit("b", box(2, h: 3)); }`,
	}
	UnknownLabel = &Info{
		Code: "E0208", Title: `unknown label`, Noise: AfterLostName,
		Explain: "A label after break or continue must be the label of an enclosing loop.",
		Bad:     `fn main() { for i in 0..3 { if i == 1 { break 'outer; } } }`,
		Good:    `fn main() { 'outer: for i in 0..3 { if i == 1 { break 'outer; } } }`,
	}
	UnknownDecorator = &Info{
		Code: "E0209", Title: `unknown decorator`, Noise: AfterLostName,
		Explain: "A decorator must be one that the language defines. A program cannot declare its own.",
		Bad: `@tset
fn t() { }`,
		Good: `@test
fn t() { }`,
	}
	DuplicateName = &Info{
		Code: "E0210", Title: `duplicate declaration`, Noise: NotNoise,
		NoFix:   "it is unknown which declaration is intended",
		Explain: "A name can be declared only once in its scope.",
		Bad: `fn a() -> Int { 1 }
fn a() -> Int { 2 }`,
		Good: `fn a() -> Int { 1 }
fn b() -> Int { 2 }`,
		More: []Pair{{`enum Shape { Dot, Circle(Int) }
impl Shape { fn Dot() -> Int { 1 } }`, `enum Shape { Dot, Circle(Int) }
impl Shape { fn dots() -> Int { 1 } }`}},
	}
	DuplicateField = &Info{
		Code: "E0211", Title: `duplicate field`, Noise: NotNoise,
		Explain: "A field can be declared only once in its type, and given only once in a value.",
		Bad:     `struct P { x: Int, x: Int }`,
		Good:    `struct P { x: Int, y: Int }`,
		More:    []Pair{{`const SIZES = { small: 1, small: 2 };`, `const SIZES = { small: 1, large: 2 };`}},
	}
	NotAType = &Info{
		Code: "E0212", Title: `not a type`, Noise: AfterLostName,
		NoFix:   "the intended type is unknown",
		Explain: "A type is required here, but the name refers to something else.",
		Bad: `fn area() -> Int { 1 }
fn f(x: area) -> Int { 1 }`,
		Good: `fn area() -> Int { 1 }
fn f(_x: Int) -> Int { area() }`,
	}
	NotAValue = &Info{
		Code: "E0213", Title: `not a value`, Noise: AfterLostName,
		Explain: "A type, a module or a special library function cannot be used as a value.",
		Bad: `struct P { x: Int }
fn main() { emit("p", P); }`,
		Good: `struct P { x: Int }
fn main() { emit("p", P { x: 1 }); }`,
	}
	AliasCycle = &Info{
		Code: "E0214", Title: `recursive type alias`, Noise: NotNoise,
		NoFix:   "the intended type is unknown",
		Explain: "A type alias cannot refer to itself, directly or through other aliases.",
		Bad: `type A = B;
type B = A;`,
		Good: `type A = Array<Int>;
type B = A;`,
	}
	ConstCycle = &Info{
		Code: "E0215", Title: `constant depends on itself`, Noise: NotNoise,
		NoFix:   "the intended value is unknown",
		Explain: "A constant is computed from literals and other constants. It cannot depend on itself.",
		Bad: `const A: Int = B + 1;
const B: Int = A;`,
		Good: `const A: Int = B + 1;
const B: Int = 1;`,
	}
	NotConstant = &Info{
		Code: "E0216", Title: `not a constant`, Noise: NotNoise,
		NoFix:   "a value that is only known at run time must be computed elsewhere",
		Explain: "A constant expression can contain only literals, operators, constants and names of declarations.",
		Bad: `fn f() -> Int { 1 }
const A: Int = f();`,
		Good: `const A: Int = 1;`,
	}
	ConstZero = &Info{
		Code: "E0217", Title: `division by zero in a constant`, Noise: NotNoise,
		NoFix:   "the intended divisor is unknown",
		Explain: "Constants are computed at compile time, so a division by zero is a compile-time error.",
		Bad:     `const A: Int = 1 / 0;`,
		Good:    `const A: Int = 1 / 2;`,
	}
	DecoratorPlace = &Info{
		Code: "E0218", Title: `decorator not allowed here`, Noise: NotNoise,
		Explain: "Each decorator is allowed only on certain kinds of declarations.",
		Bad: `@expect_fail
fn t() { }`,
		Good: `@test
@expect_fail
fn t() { panic("x"); }`,
	}
	UnusedVariable = &Info{
		Unnecessary: true,
		Code:        "W0220", Title: `unused variable`, Noise: InFlawedBody,
		Explain: "A variable that is never read is often a bug. Start its name with `_` if this is intended.",
		Bad:     `fn main() { let n = 1; }`,
		Good:    `fn main() { let _n = 1; }`,
	}
	UnknownTrait = &Info{
		Code: "E0221", Title: `unknown trait`, Noise: AfterLostName,
		Explain: "A bound, and the trait of an `impl`, must be a declared trait.",
		Bad:     `fn f<T: Shwo>(x: T) -> T { x }`,
		Good: `trait Show { fn show(self) -> String; }
fn f<T: Show>(x: T) -> T { x }`,
	}
	MissingMethod = &Info{
		Code: "E0222", Title: `missing method of a trait`, Noise: InFlawedImpl,
		Explain: "An `impl` of a trait must implement every method that has no default body in the trait.",
		Bad: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { }`,
		Good: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "${self.x}" } }`,
	}
	ExtraMethod = &Info{
		Code: "E0223", Title: `method is not part of the trait`, Noise: NotNoise,
		Explain: "An `impl` of a trait can contain only the trait's methods. Put other methods into an `impl` block of the type itself.",
		Bad: `trait Show { fn show(self) -> String { "" } }
struct P { x: Int }
impl Show for P { fn print(self) -> String { "${self.x}" } }`,
		Good: `trait Show { fn show(self) -> String { "" } }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "${self.x}" } }`,
	}
	MethodSignature = &Info{
		Code: "E0224", Title: `method does not match its trait`, Noise: InFlawedFunction,
		Explain: "The parameters and the result type of a method must be the same as in the trait.",
		Bad: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> Int { self.x } }`,
		Good: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "${self.x}" } }`,
	}
	DuplicateImpl = &Info{
		Code: "E0225", Title: `duplicate trait implementation`, Noise: NotNoise,
		Explain: "A type can implement a trait only once, whatever its type arguments are, because they do not exist at run time.",
		Bad: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "a" } }
impl Show for P { fn show(self) -> String { "b" } }`,
		Good: `trait Show { fn show(self) -> String; }
struct P { x: Int }
impl Show for P { fn show(self) -> String { "a" } }`,
	}
	Private = &Info{
		Code: "E0226", Title: `private`, Noise: NotNoise,
		Explain: "A declaration without `pub` is visible only in its own module and the modules inside it.",
		Bad: `mod vault { fn secret() -> Int { 42 } }
fn main() { emit("s", vault::secret()); }`,
		Good: `mod vault { pub fn secret() -> Int { 42 } }
fn main() { emit("s", vault::secret()); }`,
	}
	ModuleFile = &Info{
		Code: "E0227", Title: `module file not found`, Noise: NotNoise,
		Explain: "`mod x;` loads x.conc or x/mod.conc from the directory of the module that declares it.",
		Bad:     `mod nowhere;`,
		Good:    `mod somewhere { }`,
	}
	ImportCycle = &Info{
		Code: "E0228", Title: `import cycle`, Noise: NotNoise,
		NoFix:   "the intended source of the name is unknown",
		Explain: "An import must refer to a declaration. It cannot refer to itself through other imports.",
		Bad: `mod a { pub use b::x; }
mod b { pub use a::x; }
fn main() { a::x(); }`,
		Good: `mod a { pub use b::x; }
mod b { pub fn x() { } }
fn main() { a::x(); }`,
	}
	HidesLibrary = &Info{
		Code: "W0231", Title: `name shadows the standard library`, Noise: NotNoise,
		Explain: "A declaration or `let` with the name of a library item hides that item. The item cannot be used in this scope, and messages with the name are ambiguous. Delete a declaration that only repeats the library's.",
		Bad: `struct Response { code: Int }
fn main() { emit("r", Response { code: 1 }); }`,
		Good: `struct Reply { code: Int }
fn main() { emit("r", Reply { code: 1 }); }`,
		More: []Pair{
			{`fn main() { let println = 3; emit("n", println); }`, `fn main() { let lines = 3; emit("n", lines); }`},
			{`schema HostProgress { message: String }
fn show(p: HostProgress) { println(p.message); }`, `fn show(p: HostProgress) { println(p.message); }`},
		},
	}
	UnusedImport = &Info{
		Unnecessary: true,
		Code:        "W0230", Title: `unused import`, Noise: NotNoise,
		Explain: "Nothing uses this import.",
		Bad: `use std::json;
fn main() { emit("x", 1); }`,
		Good: `use std::json;
fn main() { emit("x", json::stringify(1)); }`,
	}
	FileCycle = &Info{
		Code: "E0229", Title: `cyclic dependency between files`, Noise: NotNoise,
		NoFix:   "the programmer decides which file declares the shared parts",
		Explain: "Each file is initialised before the files that use it, so files cannot depend on each other in a cycle.",
	}
)
