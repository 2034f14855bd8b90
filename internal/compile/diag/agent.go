package diag

// Agents, and the fields of declarations.
var (
	UnknownConnection = &Info{
		Code: "E0721", Title: `unknown connection`, Noise: NotNoise,
		Explain: "The provider of an agent is the NAME of a section [connections.NAME] in Concerto.toml.",
		Bad:     `agent A uses dmeo { }`,
		Good:    `agent A uses demo { }`,
	}
	NoProvider = &Info{
		Code: "E0722", Title: `agent without a connection`, Noise: InFlawedAgent,
		Explain: "An agent needs a connection, a section of Concerto.toml that describes where its model runs.",
		Bad:     `agent A { system_prompt: "x" }`,
		Good:    `agent A uses demo { system_prompt: "x" }`,
	}
	NoModel = &Info{
		Code: "E0723", Title: `agent without a model`, Noise: InFlawedAgent,
		NoFix:   "the intended model is unknown",
		Explain: "The model of an agent is its own `model`, or the default_model of its connection.",
		Bad:     `agent A uses plain { }`,
		Good:    `agent A uses plain { model: "m" }`,
	}
	NoPrice = &Info{
		Code: "E0762", Title: `model without a price`, Noise: NotNoise,
		NoFix:   "the price is unknown",
		Explain: "A limit on the cost requires the price of each model. The prices of vendors' models are built in for the vendors' own addresses; those of other servers and models are in [connections.NAME.prices].",
	}
	UnknownConfig = &Info{
		Code: "E0724", Title: `unknown field`, Noise: AfterLostName,
		Explain: "Agents and hosts have only the fields that the language defines.",
		Bad:     `agent A uses demo { temprature: 0.5 }`,
		Good:    `agent A uses demo { temperature: 0.5 }`,
		More: []Pair{
			{`agent A uses demo { instructions: "Be kind." }`, `agent A uses demo { system_prompt: "Be kind." }`},
			{`host W { connector: worker, command: "./worker" }`, `host W { connector: worker }`},
			{`host W { connector: worker, params: { depth: 2 } }`, `host W { connector: worker }`},
		},
	}
	ConfigName = &Info{
		Code: "E0725", Title: `not a name`, Noise: NotNoise,
		NoFix:   "the intended name is unknown",
		Explain: "The name of a provider or connector is a word or a string.",
		Bad:     `host W { connector: 5 }`,
		Good:    `host W { connector: "worker" }`,
	}
	ConfigValue = &Info{
		Code: "E0726", Title: `invalid value of a field`, Noise: NotNoise,
		NoFix:   "the intended value is unknown",
		Explain: "Some fields of declarations accept only certain values, such as numbers in a range. The message names them.",
		Bad:     `agent A uses demo { temperature: 9.0 }`,
		Good:    `agent A uses demo { temperature: 0.9 }`,
	}
	OnlyChat = &Info{
		Code: "E0761", Title: `field that only chat completions have`, Noise: NotNoise,
		Explain: "OpenAI's Responses API has no `seed` and no `stop_sequences`. An agent that sets one of them uses chat completions, unless its connection sets `api = \"responses\"`, or the model accepts tools only with the Responses API.",
		Bad: `tool Calc { description: "Doubles numbers", @describe("Doubles a number") @param("n", "The number") pub fn double(self, n: Int) -> Int { n * 2 } }
agent A uses open { model: "gpt-6.2-sol", tools: [Calc], seed: 7 }`,
		Good: `tool Calc { description: "Doubles numbers", @describe("Doubles a number") @param("n", "The number") pub fn double(self, n: Int) -> Int { n * 2 } }
agent A uses open { model: "gpt-6.2-sol", tools: [Calc] }`,
	}
	RefusedField = &Info{
		Code: "E0763", Title: `field that the model refuses`, Noise: NotNoise,
		NoFix:   "another model may be the better choice",
		Explain: "The newest models sample by themselves: the vendor refuses a request with `temperature` or `top_p`. Some models accept them only without reasoning.",
		Bad:     `agent A uses open { model: "gpt-6.2-sol", temperature: 0.5 }`,
		Good:    `agent A uses open { model: "gpt-6.2-sol" }`,
		More: []Pair{
			{`agent A uses open { model: "gpt-6-sol", top_p: 0.5 }`, `agent A uses open { model: "gpt-6-sol", top_p: 0.5, reasoning_effort: "none" }`},
		},
	}
	RefusedEffort = &Info{
		Code: "E0764", Title: `reasoning effort that the model lacks`, Noise: NotNoise,
		NoFix:   "which of the model's efforts is meant is unknown",
		Explain: "Each model accepts some reasoning efforts, and some models accept none. `concerto models list` prints them. The efforts of a deployment with a name of its own are set by `effort` or `like` in [connections.X.models].",
		Bad:     `agent A uses open { model: "gpt-6.2-sol", reasoning_effort: "none" }`,
		Good:    `agent A uses open { model: "gpt-6.2-sol", reasoning_effort: "low" }`,
		More: []Pair{
			{`agent A uses open { model: "gpt-4o", reasoning_effort: "low" }`, `agent A uses open { model: "gpt-4o" }`},
		},
	}
	Unenforced = &Info{
		Code: "W0743", Title: `schema that is only in the prompt`, Noise: NotNoise,
		NoFix:   "another form of the type is up to the author",
		Explain: "Claude cannot enforce a schema that refers to itself, contains `Any` or a tuple, or has very many optional fields. Its newest models then receive the schema in the prompt: text that does not fit costs another request.",
		Bad: `schema Tree { label: String, parts: Array<Tree> }
agent A uses vendor { model: "claude-opus-5-5" }
fn main() { println(A.execute_with_schema<Tree>("Draw a tree")?); }`,
		Good: `schema Node { label: String, parent: Int }
agent A uses vendor { model: "claude-opus-5-5" }
fn main() { println(A.execute_with_schema<Array<Node>>("Draw a tree")?); }`,
		More: []Pair{
			{`schema Note { text: String, data: Any }
agent A uses vendor { model: "claude-opus-5-5" }
fn main() { println(A.execute_with_schema<Note>("Write a note")?); }`, `schema Note { text: String, data: Map<String, Int> }
agent A uses vendor { model: "claude-opus-5-5" }
fn main() { println(A.execute_with_schema<Note>("Write a note")?); }`},
			{`enum Shape { Dot, Line(Int, Int) }
agent A uses vendor { model: "claude-opus-5-5" }
fn main() { println(A.execute_with_schema<Shape>("Draw a shape")?); }`, `enum Shape { Dot, Line { from: Int, to: Int } }
agent A uses vendor { model: "claude-opus-5-5" }
fn main() { println(A.execute_with_schema<Shape>("Draw a shape")?); }`},
		},
	}
	EarlyChange = &Info{
		Code: "W0744", Title: `changing value before constant text`, Noise: NotNoise,
		NoFix:   "the text may have to be worded differently",
		Explain: "Providers store the beginnings of requests, and what follows the first difference is neither read from their cache nor cheaper. A time, a random number or the id of the run therefore belongs at the end of a prompt, after all text that stays the same.",
		Bad: `use std::{fs, time};
agent A uses open { model: "gpt-6.2-sol" }
fn main() { println(A.execute("It is ${time::now()}. Summarise this: ${fs::read_file("report.md")?}")?.text); }`,
		Good: `use std::{fs, time};
agent A uses open { model: "gpt-6.2-sol" }
fn main() { println(A.execute("Summarise this: ${fs::read_file("report.md")?} It is ${time::now()}.")?.text); }`,
	}
	FullMemory = &Info{
		Code: "W0745", Title: `memory that drops messages at each call`, Noise: NotNoise,
		Explain: "Once a memory with a maximum is full, each call drops the two oldest messages. All requests then differ after the system prompt, and the provider's cache is not read. With `trim`, several messages are dropped at once, and the requests in between begin alike.",
		Bad: `memory talk: Memory = Memory::new(20);
agent A uses open { model: "gpt-6.2-sol", memory: talk }`,
		Good: `memory talk: Memory = Memory::new(20, trim: 10);
agent A uses open { model: "gpt-6.2-sol", memory: talk }`,
	}
	ChangingTools = &Info{
		Code: "W0746", Title: `tools that depend on a changing value`, Noise: NotNoise,
		NoFix:   "the intended tools are unknown",
		Explain: "Requests begin with the tools. If they change, nothing of a request is read from the provider's cache.",
		Bad: `use std::random;
tool Calc { description: "Doubles numbers", @describe("Doubles a number") @param("n", "The number") pub fn double(self, n: Int) -> Int { n * 2 } }
agent A uses open { model: "gpt-6.2-sol" }
fn main() { println(A.with_tools(if random::bool() { [Calc] } else { [] }).execute("Double 4")?.text); }`,
		Good: `tool Calc { description: "Doubles numbers", @describe("Doubles a number") @param("n", "The number") pub fn double(self, n: Int) -> Int { n * 2 } }
agent A uses open { model: "gpt-6.2-sol" }
fn main() { println(A.with_tools([Calc]).execute("Double 4")?.text); }`,
	}
	StoreValue = &Info{
		Code: "E0727", Title: `not a store`, Noise: NotNoise,
		Explain: "A store is created by the function of its type: HashMap::new, Ledger::new, Memory::new or Queue::new.",
		Bad:     `memory m: Memory = 5;`,
		Good:    `memory m: Memory = Memory::new();`,
	}
	StoreType = &Info{
		Code: "E0728", Title: `values cannot be stored`, Noise: NotNoise,
		Explain: "A hashmap with a file, and a queue with or without one, can store numbers, strings, and arrays, maps, tuples, structs and enums of them. Functions, tasks, errors and agents exist only while a program runs.",
		Bad:     `hashmap h: HashMap<String, fn() -> Int> = HashMap::new().with_persistence("h.db");`,
		Good:    `hashmap h: HashMap<String, Int> = HashMap::new().with_persistence("h.db");`,
	}
	StorePlace = &Info{
		Code: "E0729", Title: `duplicate store in a file`, Noise: NotNoise,
		NoFix:   "whether the two should share their values is unknown",
		Explain: "A file can hold several stores, but only one of the same kind and name.",
		Bad: `mod a { pub memory m: Memory = Memory::new().with_persistence("m.db"); }
memory m: Memory = Memory::new().with_persistence("m.db");`,
		Good: `mod a { pub memory m: Memory = Memory::new().with_persistence("a.db"); }
memory m: Memory = Memory::new().with_persistence("m.db");`,
	}
)
