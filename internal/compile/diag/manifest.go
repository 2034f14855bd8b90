package diag

// ManifestSyntax reports a manifest that cannot be read as it is meant: it is not valid TOML, or
// contains a key that has no meaning. It also reports a script of replies that is not valid JSON.
var ManifestSyntax = &Info{
	Code: "E0801", Title: "invalid TOML or unknown key", Noise: NotNoise, Manifest: true,
	Explain: "Unknown keys and sections are errors, because a misspelled rule or limit would otherwise have no effect: `denies` instead of `deny` would deny nothing. " +
		"`concerto doc manifest` lists the keys. A manifest that requires a newer version of concerto (`concerto` in [project]) may have keys that this version does not know. " +
		"Concerto.toml is TOML 1.1: strings need quotes, every key is defined once, and a table header is on its own line. " +
		"A script of replies is TOML or JSON, depending on its file name.",
	Bad:  "[connections.main]\nprovider = \"openai\"\ndefault_modle = \"gpt-4o\"\n",
	Good: "[connections.main]\nprovider = \"openai\"\ndefault_model = \"gpt-4o\"\n",
	More: []Pair{{Bad: "[hosts.worker]\ncommand = python3\n", Good: "[hosts.worker]\ncommand = \"python3\"\n"}},
}

// ManifestType reports a value of the wrong type.
var ManifestType = &Info{
	Code: "E0802", Title: "wrong type in the manifest", Noise: NotNoise, Manifest: true,
	Explain: "Every key accepts one type of value, without conversions: a number in quotes is a string.",
	Bad:     "[hosts.worker]\ncommand = \"python3\"\ntimeout = \"30\"\n",
	Good:    "[hosts.worker]\ncommand = \"python3\"\ntimeout = 30\n",
}

// ManifestValue reports a value of the right type that is not valid.
var ManifestValue = &Info{
	Code: "E0803", Title: "invalid value in the manifest", Noise: NotNoise, Manifest: true,
	Explain: "Some keys, such as `provider` and `transport`, accept only certain words. Times and counts must be positive. A `match` must be a regular expression.",
	Bad:     "[connections.main]\nprovider = \"opnai\"\n",
	Good:    "[connections.main]\nprovider = \"openai\"\n",
}

// ManifestMissing reports a section without a required key.
var ManifestMissing = &Info{
	Code: "E0804", Title: "missing key in the manifest", Noise: NotNoise, Manifest: true,
	Explain: "A connection needs a `provider`. A host needs a `command`, unless its transport has a default. An MCP server needs a `command` or a `url`.",
	Bad:     "[hosts.worker]\ntimeout = 30\n",
	Good:    "[hosts.worker]\ncommand = \"python3\"\ntimeout = 30\n",
}

// ManifestParam reports a parameter that cannot be encoded as JSON.
var ManifestParam = &Info{
	Code: "E0805", Title: "parameter cannot be sent as JSON", Noise: NotNoise, Manifest: true,
	NoFix:   "the intended number is unknown",
	Explain: "The parameters of a host are sent as JSON, which has no infinity and no NaN.",
	Bad:     "[hosts.worker]\ncommand = \"python3\"\nparams = { ratio = inf }\n",
	Good:    "[hosts.worker]\ncommand = \"python3\"\nparams = { ratio = 1.5 }\n",
}

// ManifestConflict reports two keys that contradict each other.
var ManifestConflict = &Info{
	Code: "E0806", Title: "conflicting keys in the manifest", Noise: NotNoise, Manifest: true,
	NoFix: "which of the keys is intended is unknown",
	Explain: "A parameter is set in either `params` or `params_env`. The replies of a scripted connection are in either `replies` or `script`. " +
		"Some keys of a host apply only to certain transports.",
	Bad:  "[hosts.worker]\ncommand = \"python3\"\nparams = { token = \"x\" }\nparams_env = { token = \"TOKEN\" }\n",
	Good: "[hosts.worker]\ncommand = \"python3\"\nparams_env = { token = \"TOKEN\" }\n",
}

// ManifestSecret reports a secret in the manifest itself.
var ManifestSecret = &Info{
	Code: "E0807", Title: "secret in the manifest", Noise: NotNoise, Manifest: true,
	NoFix: "the secret must be moved to the environment, and is already exposed",
	Explain: "Manifests are shared, and their values are copied into compiled programs. Name the environment variables that contain keys, tokens and passwords instead: " +
		"`api_key_env` of a connection, `headers_env` of an MCP server, `params_env` of a host.",
	Bad:  "[connections.main]\nprovider = \"openai\"\napi_key_env = \"sk-proj-0123456789abcdef\"\n",
	Good: "[connections.main]\nprovider = \"openai\"\napi_key_env = \"OPENAI_API_KEY\"\n",
}

// PackageLock reports a lock file that is missing, invalid or does not match the manifest.
var PackageLock = &Info{
	Code: "E0808", Title: "`concerto.lock` does not match the manifest", Noise: NotNoise, Manifest: true,
	NoFix: "only a command can write the lock file, because it may have to fetch packages",
	Explain: "`concerto.lock` contains the selected version, the commit, the hash and the uses of each package. Compiling never changes it. " +
		"After a change of [dependencies], `concerto update --lock` brings it in line with the manifest.",
}

// PackageUnusable reports a package that the program requires and cannot use.
var PackageUnusable = &Info{
	Code: "E0809", Title: "package cannot be used", Noise: NotNoise, Manifest: true,
	NoFix: "the package must be changed",
	Explain: "A package has a `Concerto.toml` and a root module, by default `lib.conc`. It may require a newer version of concerto, " +
		"and its code may use no more than its own [permissions]. Packages must not require each other in a circle.",
}

// OpenPermissions reports [permissions] that restrict one kind of access and say nothing about
// others.
var OpenPermissions = &Info{
	Code: "W0803", Title: "[permissions] leave access open", Noise: NotNoise, Manifest: true,
	Explain: "[permissions] restrict the kinds that they name. Files, environment variables and the network remain open if their key is missing, unless `default = \"deny\"` is set. " +
		"In earlier versions, a missing key denied access.",
	Bad:  "[permissions]\nfs = [\"data\"]\n",
	Good: "[permissions]\ndefault = \"deny\"\nfs = [\"data\"]\n",
}

// OutsideRoots reports a host whose working directory is in none of the roots of its permissions.
var OutsideRoots = &Info{
	Code: "W0804", Title: "working directory outside of the roots", Noise: NotNoise, Manifest: true,
	NoFix: "the programmer decides which files the host may use",
	Explain: "`read` and `write` in [hosts.X.permissions] and `working_dir` are all relative to the manifest. " +
		"If the host works in a directory that is in none of these roots, no root permits what it does there: each request for a file is asked about, or denied with `default = \"deny\"`.",
	Bad:  "[hosts.coder]\ntransport = \"claude-code\"\nworking_dir = \"..\"\n\n[hosts.coder.permissions]\nread = [\".\"]\nwrite = [\"src\"]\n",
	Good: "[hosts.coder]\ntransport = \"claude-code\"\nworking_dir = \"..\"\n\n[hosts.coder.permissions]\nread = [\"..\"]\nwrite = [\"../src\"]\n",
}

// NoMain reports an entry file without main.
var NoMain = &Info{
	Code: "W0802", Title: "program without `main`", Noise: NotNoise, Manifest: true,
	Explain: "`concerto run` calls the function `main` of the entry file. `concerto check` warns if the entry file (`main.conc`, or the file that " +
		"`[project] entry` names) has no `main`, and also no `pub` declaration, test or tool.",
}
