package diag

// Tools.
var (
	ToolUndescribed = &Info{
		Code: "E0731", Title: `public tool function without a description`, Noise: InFlawedTool,
		Explain: "Models choose tool functions by their descriptions.",
		Bad:     `tool T { description: "t", pub fn f(self) -> Int { 1 } }`,
		Good:    `tool T { description: "t", @describe("Returns one") pub fn f(self) -> Int { 1 } }`,
	}
	ToolSelf = &Info{
		Code: "E0732", Title: "tool function without `self`", Noise: NotNoise,
		Explain: "The first parameter of a tool function must be `self`.",
		Bad:     `tool T { description: "t", @describe("Returns one") fn f() -> Int { 1 } }`,
		Good:    `tool T { description: "t", @describe("Returns one") fn f(self) -> Int { 1 } }`,
	}
	ToolGeneric = &Info{
		Code: "E0734", Title: `generic tool function`, Noise: NotNoise,
		NoFix:   "the intended types are unknown",
		Explain: "The parameters of a tool function become a JSON Schema, so their types must be concrete.",
		Bad:     `tool T { description: "t", @describe("d") fn f<A>(self, @param("it") x: Int) -> Int { x } }`,
		Good:    `tool T { description: "t", @describe("d") fn f(self, @param("it") x: Int) -> Int { x } }`,
	}
	ToolParam = &Info{
		Code: "E0735", Title: `misplaced parameter description`, Noise: NotNoise,
		Explain: "@param describes one parameter of the function, which it names.",
		Bad:     `tool T { description: "t", @describe("d") @param("y", "it") fn f(self, @param("it") x: Int) -> Int { x } }`,
		Good:    `tool T { description: "t", @describe("d") @param("x", "it") fn f(self, x: Int) -> Int { x } }`,
	}
	ToolDescription = &Info{
		Code: "W0736", Title: `tool without a description`, Noise: InFlawedTool,
		NoFix:   "the intended description is unknown",
		Explain: "Models choose tools by their descriptions.",
		Bad:     `tool T { @describe("d") fn f(self) -> Int { 1 } }`,
		Good:    `tool T { description: "t", @describe("d") fn f(self) -> Int { 1 } }`,
	}
	ToolParamDoc = &Info{
		Code: "W0737", Title: `parameter without a description`, Noise: NotNoise,
		NoFix:   "the intended description is unknown",
		Explain: "Models fill in parameters by their descriptions.",
		Bad:     `tool T { description: "t", @describe("d") fn f(self, x: Int) -> Int { x } }`,
		Good:    `tool T { description: "t", @describe("d") @param("x", "it") fn f(self, x: Int) -> Int { x } }`,
	}
	NamelessArgument = &Info{
		Code: "E0739", Title: `unnamed argument of an undeclared function`, Noise: NotNoise,
		NoFix:   "only the server knows the names of the arguments",
		Explain: "A function that `..` in an `mcp` block includes has no declared parameters, so its arguments must be named.",
		Bad: `mcp Files { .. }
fn main() { emit("x", Files.read("a")); }`,
		Good: `mcp Files { .. }
fn main() { emit("x", Files.read(path: "a")); }`,
	}
	UnknownServer = &Info{
		Code: "E0738", Title: `unknown MCP server`, Noise: InFlawedServer,
		Explain: "An `mcp` block declares functions of a server that a section [mcp.NAME] of the manifest describes.",
		Bad: `mcp Elsewhere { fn read(path: String) -> String; }
fn main() { emit("x", Elsewhere.read("a")); }`,
		Good: `mcp Files { fn read(path: String) -> String; }
fn main() { emit("x", Files.read("a")); }`,
	}
)
