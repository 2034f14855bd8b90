package manifest

import (
	"fmt"
	"math"
	"strings"
)

// The keys that define the handler of a tool. Each tool has exactly one of them.
const (
	handledByCommand  = "command"
	handledByHTTP     = "http"
	handledByMCP      = "mcp"
	handledByConcerto = "concerto"
)

var handlers = []string{handledByCommand, handledByHTTP, handledByMCP, handledByConcerto}

// selfDescribed contains the handlers whose tools have the description and the parameters of the
// server or the program.
var selfDescribed = []string{handledByMCP, handledByConcerto}

// mostSeconds and leastSeconds are the bounds of a tool's times, in seconds.
const leastSeconds, mostSeconds = 0.001, 86400

// toolKeys contains the keys of [tools.X], which are also the keys of a tool in a file of tools.
var toolKeys = []Key{
	{Path: "tools.*.name", Type: String, inFiles: true, Example: `"query"`,
		Doc: "The tool's name, in a tool file; in Concerto.toml the section's name is used. Letters, digits, `_` and `-`, at most 64."},
	{Path: "tools.*.description", Type: String, Example: `"Query the database"`, Doc: "The tool's description for models. A tool of an MCP server or of a program has its own."},
	{Path: "tools.*.parameters", Type: Schema, Default: `{ type = "object" }`, Example: `{ type = "object", properties = { sql = { type = "string" } }, required = ["sql"] }`,
		Doc: "The JSON Schema of its arguments. A tool of an MCP server or of a program has its own."},
	{Path: "tools.*.output", Type: Schema, Example: `{ type = "integer" }`, Doc: "The JSON Schema of its output; output that does not fit is a failure."},
	{Path: "tools.*.version", Type: Integer, Min: 1, Most: math.MaxInt32, Default: "1", Example: "2", Doc: "Its version. Several versions may exist at the same time."},
	{Path: "tools.*.scope", Type: Enum, Values: []string{"global", "session"}, Default: `"global"`, Example: `"session"`, Doc: "Whether one instance serves the whole process, or each session has its own."},
	{Path: "tools.*.category", Type: String, Example: `"db"`, Doc: "A category by which declarations and [permissions] select it, as `category:db`."},
	{Path: "tools.*.requires_approval", Type: Bool, Default: "false", Example: "true", Doc: "Each call requires an approval by the application."},
	{Path: "tools.*.approval_timeout", Type: Number, Least: leastSeconds, Most: mostSeconds, Unit: "seconds", Default: "300", Example: "60", Doc: "How long a call waits for the approval."},
	{Path: "tools.*.on_timeout", Type: Enum, Values: []string{"deny", "allow", "halt"}, Default: `"deny"`, Example: `"halt"`, Doc: "The outcome of a call that was neither approved nor denied in that time; `halt` also ends the agent's call."},
	{Path: "tools.*.timeout", Type: Number, Least: leastSeconds, Most: mostSeconds, Unit: "seconds", Default: "60", Example: "30", Doc: "The maximum duration of a call, excluding the approval."},
	{Path: "tools.*.idle_timeout", Type: Number, Least: leastSeconds, Most: mostSeconds, Unit: "seconds", Example: "10", Doc: "The maximum time without a progress report during a call."},
	{Path: "tools.*.sequential", Type: Bool, Default: "false", Example: "true", Doc: "Each session makes one call of it at a time."},
	{Path: "tools.*.max_concurrent", Type: Integer, Min: 1, Most: math.MaxInt32, Example: "4", Doc: "Maximum number of concurrent calls in the process; further calls wait."},
	{Path: "tools.*.requires", Type: Strings, Default: "[]", Example: `["render:image/png"]`, check: checkNeed, Doc: "The formats that a session must be able to display for the tool to be available."},

	{Path: "tools.*.command.run", Type: Strings, short: true, nonempty: true, instead: "pass_env", Example: `["python3", "query.py"]`,
		Doc: "The command and its arguments, started without a shell. A command with a slash is a file, relative to the file that names it. `command = [\"python3\", \"query.py\"]` is short for this key alone."},
	{Path: "tools.*.command.pass_env", Type: Strings, holds: variables, Default: "[]", Example: `["DB_URL"]`, check: checkVariable, Doc: "Variables passed to it in addition to those that every process gets: the session's value, else the run's. A call fails if one is not set."},
	{Path: "tools.*.command.env", Type: Table, holds: named, instead: "pass_env", Default: "{}", Example: `{ MODE = "fast" }`, Doc: "Variables added to its environment."},
	{Path: "tools.*.command.cwd", Type: String, Example: `"tools"`, Doc: "Its working directory, relative to the file; by default the session's."},
	{Path: "tools.*.command.answer", Type: Enum, Values: []string{"json", "text", "lines"}, Default: `"json"`, Example: `"text"`,
		Doc: "The form of its output: a JSON value or a result, a text, or, for a process that continues to run, messages of `concerto serve`, one per line."},
	{Path: "tools.*.command.max_output", Type: Integer, Min: 1, Unit: "bytes", Default: "1048576", Example: "65536", Doc: "The maximum output to stdout in a call; a command that writes more is killed."},

	{Path: "tools.*.http.url", Type: String, short: true, holds: address, instead: "headers_env", Example: `"https://api.example.com/price"`, Doc: "The address. `http = \"https://…\"` is short for this key alone."},
	{Path: "tools.*.http.method", Type: Enum, Values: []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, Default: `"POST"`, Example: `"GET"`, Doc: "The method. GET sends the arguments in the query, the others in the body."},
	{Path: "tools.*.http.headers", Type: Table, holds: named, instead: "headers_env", Default: "{}", Example: `{ X-Team = "search" }`, Doc: "Headers of each request."},
	{Path: "tools.*.http.headers_env", Type: Table, holds: variables, Example: `{ Authorization = "PRICE_AUTH" }`, Doc: "Headers whose values are read from the environment at each call. A call fails if one is not set."},
	{Path: "tools.*.http.answer", Type: Enum, Values: []string{"json", "text"}, Default: `"json"`, Example: `"text"`, Doc: "The form of the response: a JSON value or a result, or a text."},
	{Path: "tools.*.http.max_output", Type: Integer, Min: 1, Unit: "bytes", Default: "1048576", Example: "65536", Doc: "The maximum size of a response."},

	{Path: "tools.*.mcp.server", Type: String, Example: `"files"`, Doc: "The server: a section of `mcp` in the same file, or [mcp.X] of Concerto.toml."},
	{Path: "tools.*.mcp.tool", Type: String, Example: `"find-text"`, Doc: "The tool's name at the server."},

	{Path: "tools.*.concerto.file", Type: String, Example: `"tools.conc"`, Doc: "A program, relative to the file that names it. It runs separately, with its own Concerto.toml and [permissions]."},
	{Path: "tools.*.concerto.function", Type: String, Example: `"Db::count"`, Doc: "A function of one of its tools, or a free `pub fn`. Its `@describe`, or otherwise its doc comment, is the description."},
}

// checkNeed returns an error if a text is no valid requirement of a tool.
func checkNeed(text string) error {
	if what, ok := strings.CutPrefix(text, "render:"); !ok || what == "" {
		return fmt.Errorf("a requirement must have the form \"render:TYPE\", such as \"render:image/png\"")
	}
	return nil
}

// checkVariable returns an error if a text is not the name of one environment variable.
func checkVariable(text string) error {
	if strings.Contains(text, "*") {
		return fmt.Errorf("a tool needs the full names of its variables")
	}
	return nil
}
