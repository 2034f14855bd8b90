package diag

// Hosts and listen.
var (
	UnknownConnector = &Info{
		Code: "E0701", Title: `unknown connector`,
		Explain: "A host's connector names a section [hosts.NAME] of Concerto.toml.",
		Bad:     `host W { connector: wroker }`,
		Good:    `host W { connector: worker }`,
	}
	NoConnector = &Info{
		Code: "E0702", Title: `host without connector`,
		Explain: "A host needs a connector: the section of Concerto.toml that says what to run.",
		Bad:     `host W { timeout: 5 }`,
		Good:    `host W { connector: worker, timeout: 5 }`,
	}
	ListenTarget = &Info{
		Code: "E0703", Title: `listen to no host`,
		Explain: "listen takes a call of a host's execute or execute_with_schema, builders before it.",
		Bad: `agent A uses demo { }
fn main() { let _r = listen A.execute("go") { "progress" => |m| { emit("p", m); } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes" }; }`,
		More: []Pair{
			{`host W { connector: worker, question_default: "" }
fn main() { let _r = listen W("go") { "approval" => |a| "yes" }; }`, `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`},
		},
	}
	NoAnswer = &Info{
		Code: "W0714", Title: `a handler that answers nothing`,
		NoFix:   "only its author knows the answer",
		Explain: "A host that asks waits for the answer, which is the value of the handler. A handler without a value sends none, and the host waits until its time is over.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { emit("asked", a.description); } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { emit("asked", a.description); "no" } }; }`,
	}
	AskNobody = &Info{
		Code: "E0715", Title: "`ask` where no person is asked",
		Explain: "`ask` as a handler leaves a question or an approval to the person at the terminal or on the relay. No person answers other messages, and a default that the program or the manifest declares answers before a person is asked.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => ask, "progress" => ask }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => ask }; }`,
		More: []Pair{
			{`host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => ask, "question" => ask }; }`, `host W { connector: worker }
fn main() { let _r = listen W.execute("go") { "approval" => ask, "question" => ask }; }`},
		},
	}
	ListenText = &Info{
		Code: "E0713", Title: `listen to a host of text`,
		Explain: "listen answers, and stream gives, the messages of a host that sends a JSON object a line, which `output_format: \"json\"` says: in the host's declaration, or in its section of Concerto.toml. A host of text only has a result.",
		Bad: `host W { connector: plain, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes" }; }`,
		Good: `host W { connector: plain, output_format: "json", question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes" }; }`,
		More: []Pair{
			{`host W { connector: worker, output_format: "text", question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes" }; }`, `host W { connector: worker, output_format: "text" }
fn main() { let _r = W.execute("go"); }`},
			{`host W { connector: plain }
fn main() { for m in W.stream("go") { println(m.type); } }`, `host W { connector: plain, output_format: "json" }
fn main() { for m in W.stream("go") { println(m.type); } }`},
		},
	}
	TerminalHandler = &Info{
		Code: "E0704", Title: `handler for a terminal message`,
		Explain: "result and error end the listen; its Result holds them.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes", "result" => |m| { emit("r", m); } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let r = listen W.execute("go") { "approval" => |m| "yes" }; emit("r", r?.text); }`,
	}
	DuplicateHandler = &Info{
		Code: "E0705", Title: `second handler`,
		Explain: "A message type has one handler.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes", "approval" => |m| "no" }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes" }; }`,
	}
	HandlerParams = &Info{
		Code: "E0706", Title: `handler's parameter`,
		Explain: "A handler is a closure or function of one parameter: the message.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a, b| "yes" }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`,
	}
	NotSerialisable = &Info{
		Code: "E0707", Title: `handler's value has no JSON form`,
		Explain: "What a handler gives is sent to the host as JSON.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { |x: Int| x } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { "yes" } }; }`,
	}
	NeverSent = &Info{
		Code: "E0708", Title: `host never sends this`,
		Explain: "The manifest lists what the host sends; a handler for anything else never runs.",
		Bad: `host Q { connector: quiet }
fn main() { let _r = listen Q.execute("go") { "progres" => |p| { emit("p", p); } }; }`,
		Good: `host Q { connector: quiet }
fn main() { let _r = listen Q.execute("go") { "progress" => |p| { emit("p", p); } }; }`,
	}
	Unanswered = &Info{
		Code: "W0709", Title: `question without an answer`,
		Explain: "A host that asks waits for an answer. Without a handler or default the person at the terminal is asked, and where there is none the host gets an error. `ask` as the handler declares that a person answers.",
		Bad: `host W { connector: worker }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`,
		Good: `host W { connector: worker, question_default: "skip" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`,
		More: []Pair{
			{`host W { connector: worker }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`, `host W { connector: worker }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes", "question" => ask }; }`},
		},
	}
	MisspeltType = &Info{
		Code: "W0710", Title: `unusual message type`,
		Explain: "Hosts may send any type, but one so near to a type of the protocol is likely misspelt.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes", "progres" => |p| { emit("p", p); } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes", "progress" => |p| { emit("p", p); } }; }`,
	}
	WrongMessage = &Info{
		Code: "E0711", Title: `schema of another message`,
		Explain: "Each message type of the protocol has its built-in schema; a handler that takes another's would refuse every message.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a: HostQuestion| a.question }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a: HostApproval| a.description }; }`,
	}
	ListenDecorated = &Info{
		Code: "W0712", Title: `listen to a decorated host`,
		NoFix:   "the listen has to move into a function of its own, whose parameters its author chooses",
		Explain: "A host's decorators stand around its `execute`. A listen runs handlers of the function it is in, a stream is gone over there, so it is that function which can be tried again or ended.",
		Bad: `@timeout(60)
host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`,
		Good: `host W { connector: worker, question_default: "" }
@timeout(60)
fn work() -> Map<String, Any> { listen W.execute("go") { "approval" => |a| "yes" }? }
fn main() { let _r = work(); }`,
		More: []Pair{
			{`@timeout(60)
host W { connector: worker }
fn main() { for m in W.stream("go") { println(m.type); } }`, `host W { connector: worker }
@timeout(60)
fn work() { for m in W.stream("go") { println(m.type); } }
fn main() { work(); }`},
		},
	}
)
