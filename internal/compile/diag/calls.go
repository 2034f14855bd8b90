package diag

// Functions, methods and their arguments.
var (
	ArgumentCount = &Info{
		Code: "E0401", Title: `wrong number of arguments`,
		Explain: "A call gives every parameter without a default, and no more than there are.",
		Bad: `fn f(a: Int, b: Int) -> Int { a + b }
fn main() { emit("f", f(1)); }`,
		Good: `fn f(a: Int, b: Int) -> Int { a + b }
fn main() { emit("f", f(1, 2)); }`,
		More: []Pair{
			{`fn box(w: Int, h: Int = 1, d: Int = 1) -> Int { w * h * d }
fn main() { emit("b", box()); }`, `fn box(w: Int, h: Int = 1, d: Int = 1) -> Int { w * h * d }
fn main() { emit("b", box(2)); }`},
			{`fn box(w: Int, h: Int = 1) -> Int { w * h }
fn main() { emit("b", box("2", 3, 4)); }`, `fn box(w: Int, h: Int = 1) -> Int { w * h }
fn main() { emit("b", box(2, 3)); }`},
			{`enum Shape { Dot, Circle(Int) }
fn dot() -> Shape { Shape::Dot() }`, `enum Shape { Dot, Circle(Int) }
fn dot() -> Shape { Shape::Dot }`},
			{`schema Person { name: String }
agent A uses demo { }
fn main() { emit("p", A.execute_with_schema("who?", Person).is_ok()); }`, `schema Person { name: String }
agent A uses demo { }
fn main() { emit("p", A.execute_with_schema<Person>("who?").is_ok()); }`},
		},
	}
	ArgumentTwice = &Info{
		Code: "E0402", Title: `argument given twice`,
		Explain: "Each parameter gets one value.",
		Bad: `fn f(a: Int, b: Int = 0) -> Int { a + b }
fn main() { emit("f", f(1, a: 2)); }`,
		Good: `fn f(a: Int, b: Int = 0) -> Int { a + b }
fn main() { emit("f", f(1, b: 2)); }`,
	}
	NotCallable = &Info{
		Code: "E0403", Title: `cannot be called`,
		Explain: "Functions and closures are called.",
		Bad:     `fn main() { let n = 1; emit("n", n(2)); }`,
		Good:    `fn main() { let n = |x: Int| x; emit("n", n(2)); }`,
		More: []Pair{
			{`agent A uses demo { }
fn main() { emit("r", A("go")); }`, `agent A uses demo { }
fn main() { emit("r", A.execute("go")?.text); }`},
		},
	}
	DefaultOrder = &Info{
		Code: "E0404", Title: `parameter without default behind one with`,
		Explain: "Positional arguments fill parameters from the left, so those with defaults come last.",
		Bad:     `fn f(a: Int = 1, b: Int) -> Int { a + b }`,
		Good:    `fn f(b: Int, a: Int = 1) -> Int { a + b }`,
	}
	ClosureDefault = &Info{
		Code: "E0405", Title: `default in a closure`,
		Explain: "A closure is called through its type, which knows no defaults.",
		Bad:     `fn main() { let f = fn(x: Int = 1) -> Int { x }; emit("f", f(1)); }`,
		Good:    `fn main() { let f = fn(x: Int) -> Int { x }; emit("f", f(1)); }`,
	}
	SelfOutside = &Info{
		Code: "E0406", Title: `self out of place`,
		NoFix:   "only its author knows the parameter that is meant",
		Explain: "`self` is the first parameter of a method.",
		Bad:     `fn f(self) -> Int { 1 }`,
		Good: `struct P { x: Int }
impl P { fn f(self) -> Int { self.x } }`,
	}
	MainSignature = &Info{
		Code: "E0407", Title: `parameters of main`,
		Explain: "`main` and tests are started by the runtime, which gives them no arguments.",
		Bad:     `fn main(n: Int) { emit("n", n); }`,
		Good:    `fn main() { emit("n", 1); }`,
	}
	TestCalled = &Info{
		Code: "E0408", Title: `test called`,
		NoFix:   "what both need is moved out of the test by whoever knows what that is",
		Explain: "Tests are started by `concerto test` only.",
		Bad: `@test
fn t() { }
fn main() { t(); }`,
		Good: `@test
fn t() { work(); }
fn work() { }
fn main() { work(); }`,
	}
	BadRegex = &Info{
		Code: "E0410", Title: `not a regular expression`,
		NoFix:   "only its author knows what the expression is to match",
		Explain: "A regular expression that is written out is read when the program is compiled, so that none of its uses can fail. The syntax is RE2's.",
		Bad:     `fn main() { emit("x", "a1".matches("[0-9")); }`,
		Good:    `fn main() { emit("x", "a1".matches("[0-9]")); }`,
	}
	DecoratorArgument = &Info{
		Code: "E0411", Title: `decorator with other arguments`,
		Explain: "Each decorator has arguments of its own, by position or by name: `@retry(max, backoff, delay_ms)`, `@timeout(seconds)`, `@cache(ttl_seconds)`, `@log(channel)`, `@allow(codes)`, `@on_unknown(policy)`. They are constants.",
		Bad: `@timeout(0)
fn f() -> Int { 1 }
fn main() { emit("x", f()); }`,
		Good: `@timeout(5)
fn f() -> Int { 1 }
fn main() { emit("x", f()); }`,
		More: []Pair{
			{`@allow(W4090)
fn main() { emit("x", 1); }`, `@allow(W0409)
fn main() { [2, 1].sort(); }`},
			{`@allow(E0301)
fn f() -> Int { 1 }`, `fn f() -> Int { 1 }`},
		},
	}
	AmbiguousMethod = &Info{
		Code: "E0412", Title: `which method is meant does not show`,
		NoFix:   "only its author knows which of them is meant",
		Explain: "A type may implement a trait for several arguments. Which of its methods a call means shows by the arguments of the call, by what is wanted of it, or by a bound.",
		Bad: `trait Into<T> { fn into(self) -> T; }
struct A { n: Int }
impl Into<String> for A { fn into(self) -> String { "A ${self.n}" } }
impl Into<Float> for A { fn into(self) -> Float { self.n as Float } }
fn main() { let a = A { n: 1 }; let x = a.into(); println(x); }`,
		Good: `trait Into<T> { fn into(self) -> T; }
struct A { n: Int }
impl Into<String> for A { fn into(self) -> String { "A ${self.n}" } }
impl Into<Float> for A { fn into(self) -> Float { self.n as Float } }
fn main() { let a = A { n: 1 }; let x: Float = a.into(); println(x); }`,
	}
	NoEffect = &Info{
		Code: "W0413", Title: `statement without effect`,
		Explain: "A statement that only gives a value, which nobody takes, does nothing: an `==` for a `=`, a function that is named and not called, a value at the end of a function that declares no result.",
		Bad:     `fn main() { let mut n = 1; n == 2; emit("n", n); }`,
		Good:    `fn main() { let mut n = 1; n = 2; emit("n", n); }`,
		More: []Pair{
			{`fn done() { emit("done"); }
fn main() { done; }`, `fn done() { emit("done"); }
fn main() { done(); }`},
			{`fn main() { "hello"; }`, `fn main() { println("hello"); }`},
			{`fn main() { |n: Int| n + 1; }`, `fn main() { let next = |n: Int| n + 1; emit("n", next(1)); }`},
			{`fn main() { let mut n = 1; n + 1; emit("n", n); }`, `fn main() { let mut n = 1; n += 1; emit("n", n); }`},
			{`fn double(n: Int) { n * 2 }
fn main() { double(2); }`, `fn double(n: Int) -> Int { n * 2 }
fn main() { emit("n", double(2)); }`},
			{`fn pick(n: Int) { if n > 1 { return "many"; } emit("n", n); }`, `fn pick(n: Int) -> String { if n > 1 { return "many"; } "one" }`},
		},
	}
	UnusedResult = &Info{
		Code: "W0409", Title: `unused result`,
		Explain: "A discarded Result hides an error; a method that only gives a new value does nothing when it is discarded.",
		Bad:     `fn main() { let mut xs = [2, 1]; xs.push(3); xs.sort(); }`,
		Good:    `fn main() { let mut xs = [2, 1]; xs.push(3); xs = xs.sort(); emit("xs", xs); }`,
	}
)
