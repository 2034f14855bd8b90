package manifest

import (
	"fmt"
	"math"
	"strings"
)

// The keys that each say what answers a tool's calls: a tool has one of them.
const (
	handledByCommand  = "command"
	handledByHTTP     = "http"
	handledByMCP      = "mcp"
	handledByConcerto = "concerto"
)

var handlers = []string{handledByCommand, handledByHTTP, handledByMCP, handledByConcerto}

// describe themselves: their description and parameters are the server's or the program's.
var selfDescribed = []string{handledByMCP, handledByConcerto}

// mostSeconds and leastSeconds bound the times of a tool.
const leastSeconds, mostSeconds = 0.001, 86400

// toolKeys are the keys of [tools.X], which are also those of a tool in a file of tools.
var toolKeys = []Key{
	{Path: "tools.*.name", Type: String, inFiles: true, Example: `"query"`,
		Doc: "The tool's name, in a file of tools; in Concerto.toml the section is named after it. Letters, digits, `_` and `-`, 64 at most."},
	{Path: "tools.*.description", Type: String, Example: `"Query the database"`, Doc: "What the tool does, for models. A tool of an MCP server or of a program has its own."},
	{Path: "tools.*.parameters", Type: Schema, Default: `{ type = "object" }`, Example: `{ type = "object", properties = { sql = { type = "string" } }, required = ["sql"] }`,
		Doc: "The JSON Schema of its arguments. A tool of an MCP server or of a program has its own."},
	{Path: "tools.*.output", Type: Schema, Example: `{ type = "integer" }`, Doc: "The JSON Schema of what it gives; what does not fit is a failure."},
	{Path: "tools.*.version", Type: Integer, Min: 1, Most: math.MaxInt32, Default: "1", Example: "2", Doc: "Its version. Several may stand beside each other."},
	{Path: "tools.*.scope", Type: Enum, Values: []string{"global", "session"}, Default: `"global"`, Example: `"session"`, Doc: "Whether one instance serves the whole process, or each session has one of its own."},
	{Path: "tools.*.category", Type: String, Example: `"db"`, Doc: "What declarations and [permissions] choose it by, as `category:db`."},
	{Path: "tools.*.requires_approval", Type: Bool, Default: "false", Example: "true", Doc: "The application is asked before each call."},
	{Path: "tools.*.approval_timeout", Type: Number, Least: leastSeconds, Most: mostSeconds, Unit: "seconds", Default: "300", Example: "60", Doc: "How long that may take."},
	{Path: "tools.*.on_timeout", Type: Enum, Values: []string{"deny", "allow", "halt"}, Default: `"deny"`, Example: `"halt"`, Doc: "What becomes of a call of which nobody has said anything in that time; `halt` ends the agent's call, too."},
	{Path: "tools.*.timeout", Type: Number, Least: leastSeconds, Most: mostSeconds, Unit: "seconds", Default: "60", Example: "30", Doc: "How long a call may take, approval not counted."},
	{Path: "tools.*.idle_timeout", Type: Number, Least: leastSeconds, Most: mostSeconds, Unit: "seconds", Example: "10", Doc: "How long a call may report no progress."},
	{Path: "tools.*.sequential", Type: Bool, Default: "false", Example: "true", Doc: "A session calls it once at a time."},
	{Path: "tools.*.max_concurrent", Type: Integer, Min: 1, Most: math.MaxInt32, Example: "4", Doc: "Calls at once in the process; more wait."},
	{Path: "tools.*.requires", Type: Strings, Default: "[]", Example: `["render:image/png"]`, check: checkNeed, Doc: "What a session must be able to show for the tool to be there."},

	{Path: "tools.*.command.run", Type: Strings, short: true, nonempty: true, instead: "pass_env", Example: `["python3", "query.py"]`,
		Doc: "The command and its arguments; no shell reads them. A command with a slash is a file, seen from the file that names it. `command = [\"python3\", \"query.py\"]` is short for this key alone."},
	{Path: "tools.*.command.pass_env", Type: Strings, holds: variables, Default: "[]", Example: `["DB_URL"]`, check: checkVariable, Doc: "Variables that it gets beside those that every process gets: the session's, else the run's. A call fails where one is not set."},
	{Path: "tools.*.command.env", Type: Table, holds: named, instead: "pass_env", Default: "{}", Example: `{ MODE = "fast" }`, Doc: "Variables added to its environment."},
	{Path: "tools.*.command.cwd", Type: String, Example: `"tools"`, Doc: "Its working directory, seen from the file; the session's when not given."},
	{Path: "tools.*.command.answer", Type: Enum, Values: []string{"json", "text", "lines"}, Default: `"json"`, Example: `"text"`,
		Doc: "What it writes: a JSON value or a result, a text, or, as a process that stays, messages of `concerto serve`, a line each."},
	{Path: "tools.*.command.max_output", Type: Integer, Min: 1, Unit: "bytes", Default: "1048576", Example: "65536", Doc: "What it may write to stdout in a call; one that writes more is ended."},
	{Path: "tools.*.command.sandbox.net", Type: Bool, Example: "false", Doc: "`false`: it reaches no network."},
	{Path: "tools.*.command.sandbox.read", Type: Strings, Example: `["data"]`, Doc: "Files and directories that it may read, besides what a program needs to run; with this key or `write`, nothing else."},
	{Path: "tools.*.command.sandbox.write", Type: Strings, Example: `["out"]`, Doc: "Files and directories that it may read and write."},
	{Path: "tools.*.command.sandbox.cpu_seconds", Type: Number, Unit: "seconds", Example: "10", Doc: "Time that it and what it starts may compute."},
	{Path: "tools.*.command.sandbox.memory_mb", Type: Integer, Min: 1, Unit: "MiB", Example: "512", Doc: "Memory of it and what it starts."},
	{Path: "tools.*.command.sandbox.file_mb", Type: Integer, Min: 1, Unit: "MiB", Example: "100", Doc: "The largest file that it may write."},
	{Path: "tools.*.command.sandbox.open_files", Type: Integer, Min: 16, Example: "256", Doc: "Files that each process may have open."},
	{Path: "tools.*.command.sandbox.processes", Type: Integer, Min: 1, Example: "20", Doc: "Processes at once, its own among them."},
	{Path: "tools.*.command.sandbox.missing", Type: Enum, Values: []string{"fail", "warn"}, Default: `"fail"`, Example: `"warn"`, Doc: "What becomes of a call where this machine cannot enforce all that."},

	{Path: "tools.*.http.url", Type: String, short: true, holds: address, instead: "headers_env", Example: `"https://api.example.com/price"`, Doc: "The address. `http = \"https://…\"` is short for this key alone."},
	{Path: "tools.*.http.method", Type: Enum, Values: []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, Default: `"POST"`, Example: `"GET"`, Doc: "The method. GET has the arguments in the query, the others in the body."},
	{Path: "tools.*.http.headers", Type: Table, holds: named, instead: "headers_env", Default: "{}", Example: `{ X-Team = "search" }`, Doc: "Headers of each request."},
	{Path: "tools.*.http.headers_env", Type: Table, holds: variables, Example: `{ Authorization = "PRICE_AUTH" }`, Doc: "Headers whose values are read from the environment at each call. A call fails where one is not set."},
	{Path: "tools.*.http.answer", Type: Enum, Values: []string{"json", "text"}, Default: `"json"`, Example: `"text"`, Doc: "What the server answers with: a JSON value or a result, or a text."},
	{Path: "tools.*.http.max_output", Type: Integer, Min: 1, Unit: "bytes", Default: "1048576", Example: "65536", Doc: "How long an answer may be."},

	{Path: "tools.*.mcp.server", Type: String, Example: `"files"`, Doc: "The server: a section of `mcp` in the same file, or [mcp.X] of Concerto.toml."},
	{Path: "tools.*.mcp.tool", Type: String, Example: `"find-text"`, Doc: "The tool's name there."},

	{Path: "tools.*.concerto.file", Type: String, Example: `"tools.conc"`, Doc: "A program, seen from the file that names it. It runs by itself, with its own Concerto.toml and [permissions]."},
	{Path: "tools.*.concerto.function", Type: String, Example: `"Db::count"`, Doc: "A function of one of its tools, or a free `pub fn`. Its `@describe`, or else its doc comment, describes it."},
}

// checkNeed says why a text is nothing that a tool may require.
func checkNeed(text string) error {
	if what, ok := strings.CutPrefix(text, "render:"); !ok || what == "" {
		return fmt.Errorf("what can be required is \"render:TYPE\", such as \"render:image/png\"")
	}
	return nil
}

// checkVariable says why a text does not name one variable.
func checkVariable(text string) error {
	if strings.Contains(text, "*") {
		return fmt.Errorf("a tool gets variables by their whole names")
	}
	return nil
}
