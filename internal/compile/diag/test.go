package diag

// Tests and their mocks.
var (
	MockPlace = &Info{
		Code: "E0751", Title: "`mock` outside a test",
		NoFix:   "only its author knows the test that it is for",
		Explain: "A mock stands in for an agent or a host during one test, so it is written in an `@test` function.",
		Bad: `agent A uses demo { }
fn main() { mock A { response: "hi" } }`,
		Good: `agent A uses demo { }
@test fn t() { mock A { response: "hi" } assert(A.execute("x").is_ok()); }`,
	}
	MockTarget = &Info{
		Code: "E0752", Title: "nothing to mock",
		Explain: "What reaches out of the program can be mocked: agents, hosts and MCP servers. Everything else runs in a test as it is.",
		Bad: `fn f() -> Int { 1 }
@test fn t() { mock f { response: "hi" } assert_eq(f(), 1); }`,
		Good: `agent A uses demo { }
@test fn t() { mock A { response: "hi" } assert(A.execute("x").is_ok()); }`,
	}
	MockAnswers = &Info{
		Code: "E0753", Title: "answers of a mock",
		Explain: "A mock answers in one way: with a `response` each time, with an `error` each time, or with `responses` in turn; a host's also with the `messages` of its conversations. An MCP server's has an answer for each function.",
		Bad: `agent A uses demo { }
@test fn t() { mock A { response: "hi", error: "down" } assert(A.execute("x").is_ok()); }`,
		Good: `agent A uses demo { }
@test fn t() { mock A { responses: ["hi", { error: "down" }] } assert(A.execute("x").is_ok()); assert(A.execute("x").is_err()); }`,
	}
	TestText = &Info{
		Code: "E0754", Title: "text of a test's decorator",
		Explain: "`@test` takes at most the test's description, `@expect_fail` at most a part of the failure's message: a string literal.",
		Bad:     `@test(5) fn t() { assert(true); }`,
		Good:    `@test("five") fn t() { assert(true); }`,
	}
)
