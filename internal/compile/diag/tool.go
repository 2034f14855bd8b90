package diag

// Tools.
var (
	ToolUndescribed = &Info{
		Code: "E0731", Title: `public tool function without description`,
		Explain: "Models choose tool functions by their descriptions.",
		Bad:     `tool T { description: "t", pub fn f(self) -> Int { 1 } }`,
		Good:    `tool T { description: "t", @describe("Gives one") pub fn f(self) -> Int { 1 } }`,
	}
	ToolSelf = &Info{
		Code: "E0732", Title: `tool function without self`,
		Explain: "A tool's functions work on the tool.",
		Bad:     `tool T { description: "t", @describe("Gives one") fn f() -> Int { 1 } }`,
		Good:    `tool T { description: "t", @describe("Gives one") fn f(self) -> Int { 1 } }`,
	}
	ToolGeneric = &Info{
		Code: "E0734", Title: `generic tool function`,
		NoFix:   "only its author knows the types that models are to see",
		Explain: "A tool function's parameters become a JSON Schema, so they have concrete types.",
		Bad:     `tool T { description: "t", @describe("d") fn f<A>(self, @param("it") x: Int) -> Int { x } }`,
		Good:    `tool T { description: "t", @describe("d") fn f(self, @param("it") x: Int) -> Int { x } }`,
	}
	ToolParam = &Info{
		Code: "E0735", Title: `parameter description out of place`,
		Explain: "@param names a parameter of the function and describes it.",
		Bad:     `tool T { description: "t", @describe("d") @param("y", "it") fn f(self, @param("it") x: Int) -> Int { x } }`,
		Good:    `tool T { description: "t", @describe("d") @param("x", "it") fn f(self, x: Int) -> Int { x } }`,
	}
	ToolDescription = &Info{
		Code: "W0736", Title: `tool without description`,
		NoFix:   "only its author knows what models are to be told",
		Explain: "Models choose tools by their descriptions.",
		Bad:     `tool T { @describe("d") fn f(self) -> Int { 1 } }`,
		Good:    `tool T { description: "t", @describe("d") fn f(self) -> Int { 1 } }`,
	}
	ToolParamDoc = &Info{
		Code: "W0737", Title: `parameter without description`,
		NoFix:   "only its author knows what models are to be told",
		Explain: "Models fill parameters by their descriptions.",
		Bad:     `tool T { description: "t", @describe("d") fn f(self, x: Int) -> Int { x } }`,
		Good:    `tool T { description: "t", @describe("d") @param("x", "it") fn f(self, x: Int) -> Int { x } }`,
	}
	NamelessArgument = &Info{
		Code: "E0739", Title: `an argument of an undeclared function has no name`,
		NoFix:   "only the server knows the names of its arguments",
		Explain: "A function that an `mcp` block leaves to `..` has no declared parameters, so that only names say which argument is which.",
		Bad: `mcp Files { .. }
fn main() { emit("x", Files.read("a")); }`,
		Good: `mcp Files { .. }
fn main() { emit("x", Files.read(path: "a")); }`,
	}
	UnknownServer = &Info{
		Code: "E0738", Title: `unknown MCP server`,
		Explain: "An `mcp` block declares functions of the server that [mcp.NAME] of the manifest describes.",
		Bad: `mcp Elsewhere { fn read(path: String) -> String; }
fn main() { emit("x", Elsewhere.read("a")); }`,
		Good: `mcp Files { fn read(path: String) -> String; }
fn main() { emit("x", Files.read("a")); }`,
	}
)
