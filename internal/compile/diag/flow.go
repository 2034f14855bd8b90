package diag

// Mutation, definite assignment and reachability.
var (
	Immutable = &Info{
		Code: "E0501", Title: `variable is not mutable`, Noise: NotNoise,
		Explain: "A variable, its fields and its elements can be changed only if it is declared with `mut`.",
		Bad:     `fn main() { let n = 1; n = 2; emit("n", n); }`,
		Good:    `fn main() { let mut n = 1; n = 2; emit("n", n); }`,
		More: []Pair{
			{`fn main() { for i in 0..3 { i += 1; emit("i", i); } }`, `fn main() { for i in 0..3 { let mut j = i; j += 1; emit("j", j); } }`},
			{`fn f(o: Int?) -> Int { match o { Some(n) => { n += 1; n } None => 0 } }`, `fn f(o: Int?) -> Int { match o { Some(n) => n + 1, None => 0 } }`},
		},
	}
	NotAPlace = &Info{
		Code: "E0502", Title: `not assignable`, Noise: NotNoise,
		Explain: "An assignment or a mutating method needs a variable, or a field or element of one.",
		Bad: `fn f() -> Array<Int> { [1] }
fn main() { f().push(2); }`,
		Good: `fn f() -> Array<Int> { [1] }
fn main() { let mut xs = f(); xs.push(2); emit("xs", xs); }`,
	}
	ReceiverCaptured = &Info{
		Code: "E0503", Title: `closure uses a variable that is being changed`, Noise: NotNoise,
		NoFix:   "whether the old or the new value is intended is unknown",
		Explain: "While a method changes a variable, a closure passed to it cannot use that variable.",
		Bad: `struct B { n: Int }
impl B { fn set(mut self, f: fn(Int) -> Int) { self.n = f(1); } }
fn main() { let mut b = B { n: 0 }; b.set(|x| x + b.n); emit("b", b); }`,
		Good: `struct B { n: Int }
impl B { fn set(mut self, f: fn(Int) -> Int) { self.n = f(1); } }
fn main() { let mut b = B { n: 0 }; let n = b.n; b.set(|x| x + n); emit("b", b); }`,
	}
	Unassigned = &Info{
		Code: "E0504", Title: `use of an unassigned variable`, Noise: InFlawedBody,
		NoFix:   "the value on the other path is unknown",
		Explain: "A variable that is declared without a value must be assigned on every path before it is read.",
		Bad:     `fn f(c: Bool) -> Int { let n: Int; if c { n = 1; } n }`,
		Good:    `fn f(c: Bool) -> Int { let n: Int; if c { n = 1; } else { n = 2; } n }`,
	}
	AssignedTwice = &Info{
		Code: "E0505", Title: `second assignment to an immutable variable`, Noise: InFlawedBody,
		Explain: "A variable without `mut` can be assigned only once.",
		Bad:     `fn f() -> Int { let n: Int; n = 1; n = 2; n }`,
		Good:    `fn f() -> Int { let mut n: Int; n = 1; n = 2; n }`,
	}
	LetWithoutValue = &Info{
		Code: "E0506", Title: `pattern without a value`, Noise: NotNoise,
		NoFix:   "the value to match is unknown",
		Explain: "A `let` with a pattern needs a value to match.",
		Bad:     `fn main() { let (a, b); emit("x", 1); }`,
		Good:    `fn main() { let (a, b) = (1, 2); emit("x", a + b); }`,
	}
	LetElseFalls = &Info{
		Code: "E0507", Title: "`else` of a `let` does not leave the block", Noise: InFlawedBody,
		NoFix:   "how to leave the block is unknown",
		Explain: "If the pattern does not match, its variables have no values. The `else` block must therefore leave with return, throw, break, continue or panic.",
		Bad:     `fn f(o: Option<Int>) -> Int { let Some(n) = o else { emit("none", 1); }; n }`,
		Good:    `fn f(o: Option<Int>) -> Int { let Some(n) = o else { return 0; }; n }`,
	}
	LoopOutside = &Info{
		Code: "E0509", Title: "`break` or `continue` outside a loop", Noise: NotNoise,
		Explain: "break and continue need an enclosing loop in the same function, closure or handler.",
		Bad:     `fn main() { break; }`,
		Good:    `fn main() { loop { break; } }`,
	}
	BreakValue = &Info{
		Code: "E0508", Title: "`break` with a value in `for` or `while`", Noise: NotNoise,
		NoFix:   "the value of a loop that ends normally is unknown",
		Explain: "`break v` sets the value of a `loop`. A `for` or `while` can also end without `break`, and then has no value.",
		Bad:     `fn f(xs: Array<Int>) { for x in xs { break x; } }`,
		Good:    `fn f() -> Int { let mut n = 1; loop { n *= 2; if n > 9 { break n; } } }`,
	}
	Unreachable = &Info{
		Unnecessary: true,
		Code:        "W0510", Title: `unreachable code`, Noise: InFlawedBody,
		Explain: "Code after a return, throw or endless loop is never executed.",
		Bad:     `fn f() -> Int { return 1; emit("x", 2); }`,
		Good:    `fn f() -> Int { emit("x", 2); return 1; }`,
	}
	ConcurrentChange = &Info{
		Code: "E0511", Title: `concurrent body changes an outer variable`, Noise: NotNoise,
		NoFix:   "the body must return a value instead",
		Explain: "Concurrent bodies receive copies of the variables around them, so a change would be lost.",
		Bad:     `fn main() { let mut n = 0; let xs = parallel for x in [1, 2] { n += x; x }; emit("xs", [xs.len(), n]); }`,
		Good:    `fn main() { let xs = parallel for x in [1, 2] { x }; emit("n", xs.sum()); }`,
	}
	ConcurrentLeave = &Info{
		Code: "E0512", Title: `jump out of a concurrent body`, Noise: NotNoise,
		NoFix:   "the decision must become a value that the code outside checks",
		Explain: "A concurrent body ends with a value or an error. return, break and continue cannot leave it, because its siblings would still run.",
		Bad:     `fn f() -> Int { let xs = parallel for x in [1, 2] { if x == 1 { return 5; } x }; xs.sum() }`,
		Good:    `fn f() -> Int { let xs = parallel for x in [1, 2] { x }; xs.sum() }`,
	}
	AsyncMutSelf = &Info{
		Code: "E0513", Title: "async method with `mut self`", Noise: NotNoise,
		NoFix:   "the method must return the new value, and its callers must use it",
		Explain: "An async method continues after its call has returned, so a changed `self` cannot be written back. A task can change only reference types, such as tools.",
		Bad:     `struct C { n: Int } impl C { async fn inc(mut self) { self.n += 1; } } fn main() { let mut c = C { n: 1 }; c.inc().await; emit("n", c.n); }`,
		Good:    `struct C { n: Int } impl C { async fn inc(self) -> C { C { n: self.n + 1 } } } fn main() { let c = C { n: 1 }; emit("n", c.inc().await.n); }`,
	}
)
