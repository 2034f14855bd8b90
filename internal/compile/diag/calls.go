package diag

// Functions, methods and their arguments.
var (
	ArgumentCount = &Info{
		Code: "E0401", Title: `wrong number of arguments`, Noise: AfterLostHeader | InFlawedCall,
		Explain: "A call must pass every parameter that has no default, and no additional arguments.",
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
		Code: "E0402", Title: `duplicate argument`, Noise: NotNoise,
		Explain: "A call passes each parameter at most once.",
		Bad: `fn f(a: Int, b: Int = 0) -> Int { a + b }
fn main() { emit("f", f(1, a: 2)); }`,
		Good: `fn f(a: Int, b: Int = 0) -> Int { a + b }
fn main() { emit("f", f(1, b: 2)); }`,
	}
	NotCallable = &Info{
		Code: "E0403", Title: `value is not a function`, Noise: AfterLostHeader,
		Explain: "Only functions and closures can be called.",
		Bad:     `fn main() { let n = 1; emit("n", n(2)); }`,
		Good:    `fn main() { let n = |x: Int| x; emit("n", n(2)); }`,
		More: []Pair{
			{`agent A uses demo { }
fn main() { emit("r", A("go")); }`, `agent A uses demo { }
fn main() { emit("r", A.execute("go")?.text); }`},
		},
	}
	DefaultOrder = &Info{
		Code: "E0404", Title: `required parameter after an optional one`, Noise: NotNoise,
		Explain: "Positional arguments fill parameters from left to right, so parameters with defaults must come last.",
		Bad:     `fn f(a: Int = 1, b: Int) -> Int { a + b }`,
		Good:    `fn f(b: Int, a: Int = 1) -> Int { a + b }`,
	}
	ClosureDefault = &Info{
		Code: "E0405", Title: `default value in a closure`, Noise: NotNoise,
		Explain: "The type of a closure does not contain default values, so its parameters cannot have any.",
		Bad:     `fn main() { let f = fn(x: Int = 1) -> Int { x }; emit("f", f(1)); }`,
		Good:    `fn main() { let f = fn(x: Int) -> Int { x }; emit("f", f(1)); }`,
	}
	SelfOutside = &Info{
		Code: "E0406", Title: "misplaced `self`", Noise: NotNoise,
		NoFix:   "the intended parameter is unknown",
		Explain: "`self` is only allowed as the first parameter of a method.",
		Bad:     `fn f(self) -> Int { 1 }`,
		Good: `struct P { x: Int }
impl P { fn f(self) -> Int { self.x } }`,
	}
	MainSignature = &Info{
		Code: "E0407", Title: "`main` with parameters", Noise: NotNoise,
		Explain: "The runtime calls `main` with the task of the command line, if it has the parameter `task: String`, and otherwise without arguments, and tests always without.",
		Bad:     `fn main(n: Int) { emit("n", n); }`,
		Good:    `fn main() { emit("n", 1); }`,
	}
	TestCalled = &Info{
		Code: "E0408", Title: `call of a test function`, Noise: NotNoise,
		NoFix:   "the programmer decides what the test and its caller share",
		Explain: "Only `concerto test` calls test functions.",
		Bad: `@test
fn t() { }
fn main() { t(); }`,
		Good: `@test
fn t() { work(); }
fn work() { }
fn main() { work(); }`,
	}
	BadRegex = &Info{
		Code: "E0410", Title: `invalid regular expression`, Noise: NotNoise,
		NoFix:   "the intended expression is unknown",
		Explain: "A regular expression in a string literal is compiled at compile time, so it cannot fail at run time. The syntax is RE2's.",
		Bad:     `fn main() { emit("x", "a1".matches("[0-9")); }`,
		Good:    `fn main() { emit("x", "a1".matches("[0-9]")); }`,
	}
	DecoratorArgument = &Info{
		Code: "E0411", Title: `invalid arguments of a decorator`, Noise: NotNoise,
		Explain: "Each decorator has its own arguments, positional or named: `@retry(max, backoff, delay_ms)`, `@timeout(seconds)`, `@cache(ttl_seconds)`, `@log(channel)`, `@allow(codes)`, `@on_unknown(policy)`. They must be constants.",
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
		Code: "E0412", Title: `ambiguous method call`, Noise: NotNoise,
		NoFix:   "which of the methods is intended is unknown",
		Explain: "A type can implement a trait for several type arguments. The arguments of the call, its expected type or a bound must select one of the methods.",
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
		Code: "W0413", Title: `statement without effect`, Noise: InFlawedBody,
		Explain: "A statement whose value is not used has no effect, such as `==` instead of `=`, a function without a call, or a value at the end of a function without a result type.",
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
		Code: "W0409", Title: `unused result`, Noise: InFlawedBody,
		Explain: "A Result that is discarded, or whose variable is never read, hides an error: the run only logs it. `let _ = …` states that this is intended. A method that only returns a new value has no effect if the value is discarded.",
		Bad:     `fn main() { let mut xs = [2, 1]; xs.push(3); xs.sort(); }`,
		Good:    `fn main() { let mut xs = [2, 1]; xs.push(3); xs = xs.sort(); emit("xs", xs); }`,
		More: []Pair{
			{`host W { connector: worker, question_default: "" }
fn main() { let r = listen W.execute("go") { "approval" => |a| "yes" }; }`, `host W { connector: worker, question_default: "" }
fn main() { listen W.execute("go") { "approval" => |a| "yes" }?; }`},
			{`host W { connector: worker }
fn main() { W.execute("go"); }`, `host W { connector: worker }
fn main() { match W.execute("go") { Ok(text) => println(text), Err(e) => println(e.message) } }`},
			{`host W { connector: worker }
fn main() { let rs = parallel for p in ["a", "b"] { W.execute(p) }; }`, `host W { connector: worker }
fn main() { let rs = parallel for p in ["a", "b"] { W.execute(p)? }; println(rs); }`},
			{`host W { connector: worker }
async fn work() -> Result<String, HostError> { W.execute("go") }
fn main() { let t = work(); }`, `host W { connector: worker }
async fn work() -> Result<String, HostError> { W.execute("go") }
fn main() { println((await work())?); }`},
			{`host W { connector: worker }
fn main() { let s = W.stream("go"); }`, `host W { connector: worker }
fn main() { for m in W.stream("go") { println(m.type); } }`},
		},
	}
)
