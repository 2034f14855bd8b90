package diag

// Tests and their mocks.
var (
	MockPlace = &Info{
		Code: "E0751", Title: "`mock` outside a test or an eval", Noise: NotNoise,
		NoFix:   "the intended function is unknown",
		Explain: "A mock replaces an agent, a host or an MCP server during one test or one sample, so it is only allowed in an `@test` or `@eval` function.",
		Bad: `agent A uses demo { }
fn main() { mock A { response: "hi" } }`,
		Good: `agent A uses demo { }
@test fn t() { mock A { response: "hi" } assert(A.execute("x").is_ok()); }`,
	}
	MockTarget = &Info{
		Code: "E0752", Title: "invalid target of a mock", Noise: NotNoise,
		Explain: "Only agents, hosts and MCP servers can be mocked. All other code runs unchanged in tests.",
		Bad: `fn f() -> Int { 1 }
@test fn t() { mock f { response: "hi" } assert_eq(f(), 1); }`,
		Good: `agent A uses demo { }
@test fn t() { mock A { response: "hi" } assert(A.execute("x").is_ok()); }`,
	}
	MockAnswers = &Info{
		Code: "E0753", Title: "invalid answers of a mock", Noise: NotNoise,
		Explain: "A mock needs exactly one kind of answer: `response`, `error` or `responses`. The mock of a host can also have `messages`. The mock of an MCP server has one answer for each function.",
		Bad: `agent A uses demo { }
@test fn t() { mock A { response: "hi", error: "down" } assert(A.execute("x").is_ok()); }`,
		Good: `agent A uses demo { }
@test fn t() { mock A { responses: ["hi", { error: "down" }] } assert(A.execute("x").is_ok()); assert(A.execute("x").is_err()); }`,
	}
	TestText = &Info{
		Code: "E0754", Title: "invalid argument of a test decorator", Noise: NotNoise,
		Explain: "`@test` accepts an optional description, and `@expect_fail` an optional part of the expected error message. Both are string literals.",
		Bad:     `@test(5) fn t() { assert(true); }`,
		Good:    `@test("five") fn t() { assert(true); }`,
	}
	EvalArgument = &Info{
		Code: "E0755", Title: "invalid argument of `@eval`", Noise: NotNoise,
		NoFix:   "the intended value is unknown",
		Explain: "`@eval` needs `data`, the path of a dataset or the name of a function that returns the rows. `repeat`, `cluster`, `lower`, `gate`, `margin` and `name` are optional. All are named constants.",
		Bad: `@eval(repeat: 3)
fn positive(row: Int) -> Bool { row > 0 }`,
		Good: `fn rows() -> Array<Int> { [1, 2] }
@eval(data: rows, repeat: 3)
fn positive(row: Int) -> Bool { row > 0 }`,
	}
	EvalSignature = &Info{
		Code: "E0756", Title: "wrong parameters of an eval", Noise: NotNoise,
		NoFix:   "the type of the rows is unknown",
		Explain: "An eval has exactly one parameter, the row of its dataset.",
		Bad: `fn rows() -> Array<Int> { [1, 2] }
@eval(data: rows)
fn positive() -> Bool { true }`,
		Good: `fn rows() -> Array<Int> { [1, 2] }
@eval(data: rows)
fn positive(row: Int) -> Bool { row > 0 }`,
	}
	EvalData = &Info{
		Code: "E0758", Title: "invalid data of an eval", Noise: NotNoise,
		NoFix:   "the intended row is unknown",
		Explain: "Each row of a dataset must have the type of the eval's parameter. The file is relative to the source file that names it.",
	}
	GuardSignature = &Info{
		Code: "E0765", Title: "wrong signature of a `@guard` function", Noise: NotNoise,
		NoFix:   "the intended code is unknown",
		Explain: "A function with the decorator `@guard` decides about a call of an agent: its only parameter is the call, a `HostApproval`, and its result a `decide::Decision`.",
		Bad:     `@guard fn review(a: HostApproval) -> Bool { a.kind == "read" }`,
		Good: `use std::decide;
@guard fn review(a: HostApproval) -> decide::Decision {
    if a.kind == "read" { decide::allow() } else { decide::pass() }
}`,
	}
	GuardTwice = &Info{
		Code: "E0766", Title: "two `@guard` functions", Noise: NotNoise,
		NoFix:   "the intended function is unknown",
		Explain: "A program has at most one function with the decorator `@guard`. It can call other functions.",
		Bad: `use std::decide;
@guard fn files(a: HostApproval) -> decide::Decision { if a.kind == "edit" { decide::ask("an edit") } else { decide::pass() } }
@guard fn commands(a: HostApproval) -> decide::Decision { if a.kind == "execute" { decide::ask("a command") } else { decide::pass() } }`,
		Good: `use std::decide;
@guard fn review(a: HostApproval) -> decide::Decision {
    match a.kind ?? "" { "edit" => decide::ask("an edit"), "execute" => decide::ask("a command"), _ => decide::pass() }
}`,
	}
	GuardMissing = &Info{
		Code: "E0767", Title: "a guard program without a `@guard` function", Noise: NotNoise,
		NoFix:   "the intended function is unknown",
		Explain: "The program that `guard.program` of the manifest names needs a function with the decorator `@guard`, which decides about the calls of agents.",
	}
	EvalResult = &Info{
		Code: "E0757", Title: "the result of an eval is no metric", Noise: NotNoise,
		NoFix:   "the intended metric is unknown",
		Explain: "An eval returns its metrics: a Bool, an Int, a Float, an `eval::Score` or an `eval::Agreement`, or a struct whose fields have these types. Each may be in a Result, and a field may be an Option.",
		Bad: `fn rows() -> Array<Int> { [1, 2] }
@eval(data: rows)
fn label(row: Int) -> String { row.to_string() }`,
		Good: `fn rows() -> Array<Int> { [1, 2] }
@eval(data: rows)
fn odd(row: Int) -> Bool { row % 2 == 1 }`,
	}
)
