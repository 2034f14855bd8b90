package diag

// Diagnostics of the application's tools, in tool files and in the sections [tools.X] of a
// manifest. The examples are tool files.

// ToolSyntax reports a tool file that is not YAML, or not exactly one document.
var ToolSyntax = &Info{
	Code: "E0911", Title: "invalid tool file", Noise: NotNoise, Tools: true,
	NoFix:   "the intended structure is unknown",
	Explain: "A tool file is one YAML 1.2 (or JSON) document of at most 1 MiB. It is a mapping with the list `tools` and, for tools of MCP servers, the mapping `mcp`.",
	Bad:     "tools:\n  - name: [query\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n",
}

// ToolHidden reports an anchor, alias, tag or merge key.
var ToolHidden = &Info{
	Code: "E0912", Title: "anchor, alias, tag or merge key in a tool file", Noise: NotNoise, Tools: true,
	NoFix:   "the intended value is unknown",
	Explain: "Anchors (`&a`), aliases (`*a`), tags (`!!str`) and merge keys (`<<`) are not allowed in tool files, so that every tool can be read in one place. Put a string that starts with such a character in quotes.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    timeout: !!int 30\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolUnknown reports a key that has no meaning.
var ToolUnknown = &Info{
	Code: "E0913", Title: "unknown key of a tool", Noise: NotNoise, Tools: true,
	Explain: "Unknown keys are errors, because a misspelled `requires_approval` would otherwise allow calls without approval. `concerto doc manifest` lists the keys.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    time_out: 30\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolKeyTwice reports a key that appears twice in a mapping.
var ToolKeyTwice = &Info{
	Code: "E0914", Title: "duplicate key in a tool file", Noise: NotNoise, Tools: true,
	Explain: "A mapping can contain each key only once.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n    timeout: 60\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolType reports a value of the wrong type.
var ToolType = &Info{
	Code: "E0915", Title: "wrong type of a tool's key", Noise: NotNoise, Tools: true,
	Explain: "Every key accepts one type of value, without conversions: a number in quotes is a string, and so is `yes`.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    timeout: \"30\"\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolValue reports a value of the right type that is not valid.
var ToolValue = &Info{
	Code: "E0916", Title: "invalid value of a tool's key", Noise: NotNoise, Tools: true,
	Explain: "Names must match `[A-Za-z_][A-Za-z0-9_-]{0,63}`, versions are integers of 1 or more, times are between 0.001 and 86400 seconds, and some keys accept only certain words. " +
		"A tool of an MCP server or of a program declares its parameters there.",
	Bad:  "tools:\n  - name: query\n    description: Query the database\n    scope: sesion\n    command: [python3, query.py]\n",
	Good: "tools:\n  - name: query\n    description: Query the database\n    scope: session\n    command: [python3, query.py]\n",
}

// ToolMissing reports a tool without a required key.
var ToolMissing = &Info{
	Code: "E0917", Title: "missing key of a tool", Noise: NotNoise, Tools: true,
	NoFix:   "the intended description is unknown",
	Explain: "A tool file needs `tools`. Each tool needs a `name` and a `description`, which models use to decide when to call it. The description is optional for tools of MCP servers and programs.",
	Bad:     "tools:\n  - name: query\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n",
}

// ToolHandler reports a tool with no handler or several handlers.
var ToolHandler = &Info{
	Code: "E0918", Title: "tool without exactly one handler", Noise: NotNoise, Tools: true,
	NoFix:   "the intended handler is unknown",
	Explain: "Exactly one of `command`, `http`, `mcp` and `concerto` handles the calls of a tool.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n",
}

// ToolSchema reports a `parameters` or `output` that is not a valid JSON Schema.
var ToolSchema = &Info{
	Code: "E0919", Title: "invalid JSON Schema of a tool", Noise: NotNoise, Tools: true,
	NoFix:   "the intended schema is unknown",
	Explain: "`parameters` and `output` are JSON Schemas of draft 2020-12, or of draft-07 if `$schema` names it, without references to other documents. The arguments of a tool are an object.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    parameters: {type: object, properties: {sql: {type: text}}}\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    parameters: {type: object, properties: {sql: {type: string}}}\n    command: [python3, query.py]\n",
}

// ToolTwice reports two tools with the same name and version.
var ToolTwice = &Info{
	Code: "E0920", Title: "duplicate tool", Noise: NotNoise, Tools: true,
	NoFix:   "which of the tools is intended is unknown",
	Explain: "The name and version of a tool must be unique in all tool files and the manifest. Several versions of a tool can have the same name.",
	Bad: "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n" +
		"  - name: query\n    description: Query the archive\n    command: [python3, archive.py]\n",
	Good: "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n" +
		"  - name: query\n    version: 2\n    description: Query the archive\n    command: [python3, archive.py]\n",
}

// ToolSource reports a file, function, server or tool that a tool refers to and that does not
// exist.
var ToolSource = &Info{
	Code: "E0921", Title: "target of a tool not found", Noise: NotNoise, Tools: true,
	NoFix:   "the intended target is unknown",
	Explain: "The file of a `command` with a slash, the `file` and `function` of `concerto`, and the `server` and `tool` of `mcp` must exist before the program runs. Relative paths start at the directory of the file that contains them.",
}
