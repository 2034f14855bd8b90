package diag

// Diagnostics of the application's tools, in tool files and in the sections [tools.X] of a
// manifest. The examples are tool files.

// ToolSyntax reports a tool file that is not YAML, or not exactly one document.
var ToolSyntax = &Info{
	Code: "E0911", Title: "a file of tools cannot be read", Tools: true,
	NoFix:   "what is no YAML says too little of what is meant",
	Explain: "A file of tools is one document of YAML 1.2 (or JSON, which is YAML) of at most 1 MiB: a mapping with the list `tools` and, where tools of MCP servers are among them, the mapping `mcp`.",
	Bad:     "tools:\n  - name: [query\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n",
}

// ToolHidden reports an anchor, alias, tag or merge key.
var ToolHidden = &Info{
	Code: "E0912", Title: "a file of tools has an anchor, an alias, a tag or a merge key", Tools: true,
	NoFix:   "only its author knows what is to stand there in full",
	Explain: "What a tool is must stand where it is read: anchors (`&a`), aliases (`*a`), tags (`!!str`) and merge keys (`<<`) are not allowed. A text that begins with such a character stands in quotes.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    timeout: !!int 30\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolUnknown reports a key that has no meaning.
var ToolUnknown = &Info{
	Code: "E0913", Title: "a tool has an unknown key", Tools: true,
	Explain: "Nothing is ignored: a misspelt `requires_approval` would let calls through. `concerto doc manifest` lists the keys.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    time_out: 30\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolKeyTwice reports a key that appears twice in a mapping.
var ToolKeyTwice = &Info{
	Code: "E0914", Title: "a key stands twice in a file of tools", Tools: true,
	Explain: "Of two values of one key only one could count.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n    timeout: 60\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolType reports a value of the wrong type.
var ToolType = &Info{
	Code: "E0915", Title: "a key of a tool has a value of the wrong type", Tools: true,
	Explain: "Every key takes one type of value. Nothing is converted: a number in quotes is a text, and `yes` is one, too.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    timeout: \"30\"\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    timeout: 30\n    command: [python3, query.py]\n",
}

// ToolValue reports a value of the right type that is not valid.
var ToolValue = &Info{
	Code: "E0916", Title: "a key of a tool has a value that cannot be used", Tools: true,
	Explain: "Names match `[A-Za-z_][A-Za-z0-9_-]{0,63}`, versions are integers of 1 or more, times lie between 0.001 and 86400 seconds, and some keys take one of a few words. " +
		"A tool of an MCP server or of a program has its own parameters.",
	Bad:  "tools:\n  - name: query\n    description: Query the database\n    scope: sesion\n    command: [python3, query.py]\n",
	Good: "tools:\n  - name: query\n    description: Query the database\n    scope: session\n    command: [python3, query.py]\n",
}

// ToolMissing reports a tool without a required key.
var ToolMissing = &Info{
	Code: "E0917", Title: "a tool lacks a key", Tools: true,
	NoFix:   "only its author knows what models are to be told",
	Explain: "A file of tools has `tools`, and a tool a `name` and, unless an MCP server or a program describes it, a `description`, by which a model knows when to call it.",
	Bad:     "tools:\n  - name: query\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n",
}

// ToolHandler reports a tool with no handler or several handlers.
var ToolHandler = &Info{
	Code: "E0918", Title: "a tool has not exactly one handler", Tools: true,
	NoFix:   "only its author knows what answers its calls",
	Explain: "One of `command`, `http`, `mcp` and `concerto` says what answers the tool's calls.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n",
}

// ToolSchema reports a `parameters` or `output` that is not a valid JSON Schema.
var ToolSchema = &Info{
	Code: "E0919", Title: "a tool's schema is none", Tools: true,
	NoFix:   "only its author knows the schema that is meant",
	Explain: "`parameters` and `output` are JSON Schemas of draft 2020-12, or of draft-07 where `$schema` says so, which refer to nothing but themselves. The arguments of a tool are an object.",
	Bad:     "tools:\n  - name: query\n    description: Query the database\n    parameters: {type: object, properties: {sql: {type: text}}}\n    command: [python3, query.py]\n",
	Good:    "tools:\n  - name: query\n    description: Query the database\n    parameters: {type: object, properties: {sql: {type: string}}}\n    command: [python3, query.py]\n",
}

// ToolTwice reports two tools with the same name and version.
var ToolTwice = &Info{
	Code: "E0920", Title: "two tools have one name", Tools: true,
	NoFix:   "only its author knows which of the two is meant",
	Explain: "A name and a version are one tool, also across files and the manifest. `version` tells several tools of one name apart.",
	Bad: "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n" +
		"  - name: query\n    description: Query the archive\n    command: [python3, archive.py]\n",
	Good: "tools:\n  - name: query\n    description: Query the database\n    command: [python3, query.py]\n" +
		"  - name: query\n    version: 2\n    description: Query the archive\n    command: [python3, archive.py]\n",
}

// ToolSource reports a file, function, server or tool that a tool refers to and that does not
// exist.
var ToolSource = &Info{
	Code: "E0921", Title: "what a tool names is not there", Tools: true,
	NoFix:   "only its author knows what is meant to be there",
	Explain: "The file of a `command` with a slash, the `file` and the `function` of `concerto`, and the `server` and the `tool` of `mcp` must be there before anything runs. Relative paths start at the file that names them.",
}
