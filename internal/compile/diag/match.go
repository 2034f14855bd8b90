package diag

// Patterns and matches.
var (
	MissingArm = &Info{
		Code: "E0601", Title: `non-exhaustive match`, Noise: InFlawedMatch,
		Explain: "Every possible value needs a matching arm.",
		Bad:     `fn f(b: Bool) -> Int { match b { true => 1 } }`,
		Good:    `fn f(b: Bool) -> Int { match b { true => 1, false => 0 } }`,
	}
	Refutable = &Info{
		Code: "E0602", Title: `refutable pattern`, Noise: NotNoise,
		Explain: "The pattern of a let, for or parameter must match every value.",
		Bad:     `fn f(o: Option<Int>) -> Int { let Some(n) = o; n }`,
		Good:    `fn f(o: Option<Int>) -> Int { let Some(n) = o else { return 0; }; n }`,
	}
	PatternType = &Info{
		Code: "E0603", Title: `pattern never matches`, Noise: NotNoise,
		Explain: "A pattern must be able to match values of the subject's type.",
		Bad:     `fn f(n: Int) -> Int { match n { "one" => 1, _ => 0 } }`,
		Good:    `fn f(n: Int) -> Int { match n { 1 => 1, _ => 0 } }`,
		More: []Pair{
			{`async fn load() -> Int { 1 }
fn main() { match load() { 1 => emit("one"), _ => emit("many") } }`, `async fn load() -> Int { 1 }
fn main() { match await load() { 1 => emit("one"), _ => emit("many") } }`},
			{`struct P { x: Int }
fn f(p: P?) -> Int { match p { P { x } => x, None => 0 } }`, `struct P { x: Int }
fn f(p: P?) -> Int { match p { Some(P { x }) => x, None => 0 } }`},
			{`fn f(r: Result<Int, String>) -> Int { match r { 1 => 1, _ => 0 } }`,
				`fn f(r: Result<Int, String>) -> Int { match r { Ok(1) => 1, _ => 0 } }`},
		},
	}
	UpperCasePattern = &Info{
		Code: "E0604", Title: `upper-case name in a pattern`, Noise: AfterLostName,
		Explain: "A name in a pattern declares a variable. An upper-case name is rejected unless it is a variant or constant, because a misspelled variant would otherwise match every value.",
		Bad: `enum L { Low, High }
fn f(l: L) -> Int { match l { Low => 1, _ => 2 } }`,
		Good: `enum L { Low, High }
fn f(l: L) -> Int { match l { L::Low => 1, _ => 2 } }`,
		More: []Pair{
			{`host W { connector: worker }
fn main() { match W.execute("go") { Ok(text) => println(text), Err(HostError(e)) => println(e.message) } }`, `host W { connector: worker }
fn main() { match W.execute("go") { Ok(text) => println(text), Err(HostError { message, .. }) => println(message) } }`},
			{`fn f(r: Result<Int, Error>) -> Int { match r { Ok(n) => n, Err(HostError) => 1, Err(_) => 2 } }`,
				`fn f(r: Result<Int, Error>) -> Int { match r { Ok(n) => n, Err(HostError { .. }) => 1, Err(_) => 2 } }`},
		},
	}
	OrPatternNames = &Info{
		Code: "E0605", Title: `alternatives with different variables`, Noise: NotNoise,
		NoFix:   "the intended value of the variable is unknown",
		Explain: "All alternatives of a pattern must declare the same variables with the same types.",
		Bad:     `fn f(p: (Int, Int)) -> Int { match p { (0, x) | (_, _) => x } }`,
		Good:    `fn f(p: (Int, Int)) -> Int { match p { (0, x) | (x, _) => x } }`,
	}
	UnreachableArm = &Info{
		Unnecessary: true,
		Code:        "W0606", Title: `unreachable arm`, Noise: InFlawedMatch,
		Explain: "The arms before this one match all its values, so it is never selected.",
		Bad:     `fn f(n: Int) -> Int { match n { _ => 1, 2 => 3 } }`,
		Good:    `fn f(n: Int) -> Int { match n { 2 => 3, _ => 1 } }`,
	}
)
