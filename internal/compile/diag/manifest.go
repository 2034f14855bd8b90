package diag

// ManifestSyntax reports a manifest that is not valid TOML, or a script of replies that is not
// valid JSON.
var ManifestSyntax = &Info{
	Code: "E0801", Title: "the manifest is not TOML", Manifest: true,
	NoFix: "what is no TOML says too little of what is meant",
	Explain: "Concerto.toml is TOML 1.0: text stands in quotes, every key is defined once, and a table's header stands on a line of its own. " +
		"A script of replies is TOML or JSON by its file name.",
	Bad:  "[hosts.worker]\ncommand = python3\n",
	Good: "[hosts.worker]\ncommand = \"python3\"\n",
}

// ManifestType reports a value of the wrong type.
var ManifestType = &Info{
	Code: "E0802", Title: "a key of the manifest has a value of the wrong type", Manifest: true,
	Explain: "Every key takes one type of value. Nothing is converted: a number in quotes is a string.",
	Bad:     "[hosts.worker]\ncommand = \"python3\"\ntimeout = \"30\"\n",
	Good:    "[hosts.worker]\ncommand = \"python3\"\ntimeout = 30\n",
}

// ManifestValue reports a value of the right type that is not valid.
var ManifestValue = &Info{
	Code: "E0803", Title: "a key of the manifest has a value that cannot be used", Manifest: true,
	Explain: "Some keys take one of a few words, such as `provider` and `transport`; times and counts must be positive; a `match` must be a regular expression.",
	Bad:     "[connections.main]\nprovider = \"opnai\"\n",
	Good:    "[connections.main]\nprovider = \"openai\"\n",
}

// ManifestMissing reports a section without a required key.
var ManifestMissing = &Info{
	Code: "E0804", Title: "a section of the manifest lacks a key", Manifest: true,
	Explain: "A connection needs a `provider`, a host a `command` (unless its transport has one), an MCP server a `command` or a `url`.",
	Bad:     "[hosts.worker]\ntimeout = 30\n",
	Good:    "[hosts.worker]\ncommand = \"python3\"\ntimeout = 30\n",
}

// ManifestParam reports a parameter that cannot be encoded as JSON.
var ManifestParam = &Info{
	Code: "E0805", Title: "a parameter cannot be sent as JSON", Manifest: true,
	NoFix:   "only its author knows the number that is meant",
	Explain: "A host's parameters reach it as JSON, which has no infinity and no NaN.",
	Bad:     "[hosts.worker]\ncommand = \"python3\"\nparams = { ratio = inf }\n",
	Good:    "[hosts.worker]\ncommand = \"python3\"\nparams = { ratio = 1.5 }\n",
}

// ManifestConflict reports two keys that contradict each other.
var ManifestConflict = &Info{
	Code: "E0806", Title: "two keys of the manifest contradict each other", Manifest: true,
	NoFix: "only its author knows which of the two is meant",
	Explain: "A parameter comes from `params` or from `params_env`, a scripted connection's replies from `replies` or from `script`; not from both. " +
		"Some keys of a host are for vendors' agents, and mean nothing to another transport.",
	Bad:  "[hosts.worker]\ncommand = \"python3\"\nparams = { token = \"x\" }\nparams_env = { token = \"TOKEN\" }\n",
	Good: "[hosts.worker]\ncommand = \"python3\"\nparams_env = { token = \"TOKEN\" }\n",
}

// ManifestSecret reports a secret in the manifest itself.
var ManifestSecret = &Info{
	Code: "E0807", Title: "a secret stands in the manifest", Manifest: true,
	NoFix: "what was pasted has to be taken out of the file and into the environment, and counts as known",
	Explain: "A manifest is shared, and what it says goes into compiled programs. It names the environment variables that hold keys, tokens and passwords: " +
		"`api_key_env` of a connection, `headers_env` of an MCP server, `params_env` of a host.",
	Bad:  "[connections.main]\nprovider = \"openai\"\napi_key_env = \"sk-proj-0123456789abcdef\"\n",
	Good: "[connections.main]\nprovider = \"openai\"\napi_key_env = \"OPENAI_API_KEY\"\n",
}

// ManifestUnknown reports a key that has no meaning.
var ManifestUnknown = &Info{
	Code: "W0801", Title: "unknown key in the manifest", Manifest: true,
	Explain: "The key has no meaning, so it is ignored. It is most likely misspelt or stands in the wrong section.",
	Bad:     "[connections.main]\nprovider = \"openai\"\ndefault_modle = \"gpt-4o\"\n",
	Good:    "[connections.main]\nprovider = \"openai\"\ndefault_model = \"gpt-4o\"\n",
}

// NoMain reports an entry file without main.
var NoMain = &Info{
	Code: "W0802", Title: "a program without `main`", Manifest: true,
	Explain: "`concerto run` begins with the function `main` of the entry file. `concerto check` warns when the file that it is given is an entry, a `main.conc` " +
		"or the one that `[project] entry` names, and has nothing that could be used without `main`: no `pub` declaration, no test and no tool.",
}
