package diag

// Mutation, definite assignment and reachability.
var (
	Immutable = &Info{
		Code: "E0501", Title: `not mutable`,
		Explain: "A variable is changed only when it is declared `mut`; so are its fields and elements.",
		Bad:     `fn main() { let n = 1; n = 2; emit("n", n); }`,
		Good:    `fn main() { let mut n = 1; n = 2; emit("n", n); }`,
		More: []Pair{
			{`fn main() { for i in 0..3 { i += 1; emit("i", i); } }`, `fn main() { for i in 0..3 { let mut j = i; j += 1; emit("j", j); } }`},
			{`fn f(o: Int?) -> Int { match o { Some(n) => { n += 1; n } None => 0 } }`, `fn f(o: Int?) -> Int { match o { Some(n) => n + 1, None => 0 } }`},
		},
	}
	NotAPlace = &Info{
		Code: "E0502", Title: `nothing to change`,
		Explain: "Assignments and mutating methods change a variable, or a field or element of one.",
		Bad: `fn f() -> Array<Int> { [1] }
fn main() { f().push(2); }`,
		Good: `fn f() -> Array<Int> { [1] }
fn main() { let mut xs = f(); xs.push(2); emit("xs", xs); }`,
	}
	ReceiverCaptured = &Info{
		Code: "E0503", Title: `closure over what is being changed`,
		NoFix:   "only its author knows whether the old value or the new one is meant",
		Explain: "While a method changes a variable, a closure given to it cannot use that variable.",
		Bad: `struct B { n: Int }
impl B { fn set(mut self, f: fn(Int) -> Int) { self.n = f(1); } }
fn main() { let mut b = B { n: 0 }; b.set(|x| x + b.n); emit("b", b); }`,
		Good: `struct B { n: Int }
impl B { fn set(mut self, f: fn(Int) -> Int) { self.n = f(1); } }
fn main() { let mut b = B { n: 0 }; let n = b.n; b.set(|x| x + n); emit("b", b); }`,
	}
	Unassigned = &Info{
		Code: "E0504", Title: `used before it has a value`,
		NoFix:   "only its author knows the value on the other path",
		Explain: "A variable declared without a value is assigned on every path before it is read.",
		Bad:     `fn f(c: Bool) -> Int { let n: Int; if c { n = 1; } n }`,
		Good:    `fn f(c: Bool) -> Int { let n: Int; if c { n = 1; } else { n = 2; } n }`,
	}
	AssignedTwice = &Info{
		Code: "E0505", Title: `assigned twice`,
		Explain: "A variable that is not `mut` gets one value.",
		Bad:     `fn f() -> Int { let n: Int; n = 1; n = 2; n }`,
		Good:    `fn f() -> Int { let mut n: Int; n = 1; n = 2; n }`,
	}
	LetWithoutValue = &Info{
		Code: "E0506", Title: `pattern without value`,
		NoFix:   "only its author knows the value that is to be taken apart",
		Explain: "A let that takes a value apart needs the value.",
		Bad:     `fn main() { let (a, b); emit("x", 1); }`,
		Good:    `fn main() { let (a, b) = (1, 2); emit("x", a + b); }`,
	}
	LetElseFalls = &Info{
		Code: "E0507", Title: `let-else goes on`,
		NoFix:   "only its author knows how it is to be left",
		Explain: "When the pattern of a let-else does not match there is nothing bound, so its block must leave.",
		Bad:     `fn f(o: Option<Int>) -> Int { let Some(n) = o else { emit("none", 1); }; n }`,
		Good:    `fn f(o: Option<Int>) -> Int { let Some(n) = o else { return 0; }; n }`,
	}
	LoopOutside = &Info{
		Code: "E0509", Title: `outside of a loop`,
		Explain: "break and continue leave or repeat a loop of the same function, closure or handler.",
		Bad:     `fn main() { break; }`,
		Good:    `fn main() { loop { break; } }`,
	}
	BreakValue = &Info{
		Code: "E0508", Title: `a value for a loop that may end without one`,
		NoFix:   "only its author knows the value when the loop ends otherwise",
		Explain: "`break v` gives a `loop` its value. A `for` or `while` ends also by itself, where there is none.",
		Bad:     `fn f(xs: Array<Int>) { for x in xs { break x; } }`,
		Good:    `fn f() -> Int { let mut n = 1; loop { n *= 2; if n > 9 { break n; } } }`,
	}
	Unreachable = &Info{
		Unnecessary: true,
		Code:        "W0510", Title: `unreachable code`,
		Explain: "What follows a return, throw or endless loop is never reached.",
		Bad:     `fn f() -> Int { return 1; emit("x", 2); }`,
		Good:    `fn f() -> Int { emit("x", 2); return 1; }`,
	}
	ConcurrentChange = &Info{
		Code: "E0511", Title: `changed from a concurrent body`,
		NoFix:   "what runs beside others gives a value in place of changing one: the body has to be written anew",
		Explain: "Bodies that run beside each other take the variables around them by value, so none can change what another sees.",
		Bad:     `fn main() { let mut n = 0; let xs = parallel for x in [1, 2] { n += x; x }; emit("xs", [xs.len(), n]); }`,
		Good:    `fn main() { let xs = parallel for x in [1, 2] { x }; emit("n", xs.sum()); }`,
	}
	ConcurrentLeave = &Info{
		Code: "E0512", Title: `leaving a concurrent body`,
		NoFix:   "a decision within has to become a value that is decided by outside",
		Explain: "A body that runs beside others ends with its value or by an error; return, break and continue would leave its siblings behind.",
		Bad:     `fn f() -> Int { let xs = parallel for x in [1, 2] { if x == 1 { return 5; } x }; xs.sum() }`,
		Good:    `fn f() -> Int { let xs = parallel for x in [1, 2] { x }; xs.sum() }`,
	}
	AsyncMutSelf = &Info{
		Code: "E0513", Title: `a task that changes its receiver`,
		NoFix:   "the value has to be given back, and its users have to take it",
		Explain: "An async method goes on after its call has returned, so there is no place left to write a changed value back to. Only what is a reference, such as a tool, can be changed by a task.",
		Bad:     `struct C { n: Int } impl C { async fn inc(mut self) { self.n += 1; } } fn main() { let mut c = C { n: 1 }; c.inc().await; emit("n", c.n); }`,
		Good:    `struct C { n: Int } impl C { async fn inc(self) -> C { C { n: self.n + 1 } } } fn main() { let c = C { n: 1 }; emit("n", c.inc().await.n); }`,
	}
)
