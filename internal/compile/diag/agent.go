package diag

// Agents, and the fields of declarations.
var (
	UnknownConnection = &Info{
		Code: "E0721", Title: `unknown connection`,
		Explain: "An agent's provider names a section [connections.NAME] of Concerto.toml.",
		Bad:     `agent A uses dmeo { }`,
		Good:    `agent A uses demo { }`,
	}
	NoProvider = &Info{
		Code: "E0722", Title: `agent without provider`,
		Explain: "An agent needs a connection: the section of Concerto.toml that says where its model is.",
		Bad:     `agent A { system_prompt: "x" }`,
		Good:    `agent A uses demo { system_prompt: "x" }`,
	}
	NoModel = &Info{
		Code: "E0723", Title: `agent without model`,
		NoFix:   "only its author knows the model that is meant",
		Explain: "An agent's model is its own, or its connection's default_model.",
		Bad:     `agent A uses plain { }`,
		Good:    `agent A uses plain { model: "m" }`,
	}
	UnknownConfig = &Info{
		Code: "E0724", Title: `unknown field`,
		Explain: "Agents and hosts have the fields that the language defines.",
		Bad:     `agent A uses demo { temprature: 0.5 }`,
		Good:    `agent A uses demo { temperature: 0.5 }`,
		More: []Pair{
			{`agent A uses demo { instructions: "Be kind." }`, `agent A uses demo { system_prompt: "Be kind." }`},
			{`host W { connector: worker, command: "./worker" }`, `host W { connector: worker }`},
		},
	}
	ConfigName = &Info{
		Code: "E0725", Title: `not a name`,
		NoFix:   "only its author knows the name that is meant",
		Explain: "A provider or connector is named by a word or a string.",
		Bad:     `host W { connector: 5 }`,
		Good:    `host W { connector: "worker" }`,
	}
	ConfigValue = &Info{
		Code: "E0726", Title: `value out of range`,
		NoFix:   "only its author knows the value that is meant",
		Explain: "The fields of declarations take the values that the language allows.",
		Bad:     `agent A uses demo { temperature: 9.0 }`,
		Good:    `agent A uses demo { temperature: 0.9 }`,
	}
	StoreValue = &Info{
		Code: "E0727", Title: `not a store`,
		Explain: "A store is made by its type: HashMap::new, Ledger::new or Memory::new.",
		Bad:     `memory m: Memory = 5;`,
		Good:    `memory m: Memory = Memory::new();`,
	}
	StoreType = &Info{
		Code: "E0728", Title: `values that no file keeps`,
		Explain: "A hashmap in a file keeps data: numbers, texts, and arrays, maps, tuples, structs and enums of them. Functions, tasks, errors, agents and the like exist in a run only.",
		Bad:     `hashmap h: HashMap<String, fn() -> Int> = HashMap::new().with_persistence("h.db");`,
		Good:    `hashmap h: HashMap<String, Int> = HashMap::new().with_persistence("h.db");`,
	}
	StorePlace = &Info{
		Code: "E0729", Title: `two stores in one place`,
		NoFix:   "only its author knows whether they are to keep the same values",
		Explain: "A file keeps any number of stores, each under its kind and name.",
		Bad: `mod a { pub memory m: Memory = Memory::new().with_persistence("m.db"); }
memory m: Memory = Memory::new().with_persistence("m.db");`,
		Good: `mod a { pub memory m: Memory = Memory::new().with_persistence("a.db"); }
memory m: Memory = Memory::new().with_persistence("m.db");`,
	}
)
