package diag

// Hosts and listen.
var (
	UnknownConnector = &Info{
		Code: "E0701", Title: `unknown connector`, Noise: NotNoise,
		Explain: "The connector of a host is the NAME of a section [hosts.NAME] in Concerto.toml.",
		Bad:     `host W { connector: wroker }`,
		Good:    `host W { connector: worker }`,
	}
	NoConnector = &Info{
		Code: "E0702", Title: `host without a connector`, Noise: InFlawedHost,
		Explain: "A host needs a connector, the section of Concerto.toml that describes which command to run.",
		Bad:     `host W { timeout: 5 }`,
		Good:    `host W { connector: worker, timeout: 5 }`,
	}
	ListenTarget = &Info{
		Code: "E0703", Title: "`listen` without a host", Noise: InFlawedListen,
		Explain: "The operand of listen is a call of a host's execute or execute_with_schema, optionally with builder methods before it.",
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
		Code: "W0714", Title: `handler without an answer`, Noise: NotNoise,
		Explain: "The value of the handler is the answer to the host. A handler without a value sends no answer, and the host waits until it times out.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { emit("asked", a.description); "no"; } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { emit("asked", a.description); "no" } }; }`,
	}
	GateMissing = &Info{
		Code: "E0759", Title: "`with_gate` without a gate", Noise: NotNoise,
		NoFix:   "the commands that prove the host's work are unknown",
		Explain: "Without a function, with_gate runs the commands of `gate` in the host's section of Concerto.toml, or else in [workspace].",
		Bad: `host W { connector: worker }
fn main() { let _r = W.with_gate().execute("go"); }`,
		Good: `host W { connector: worker }
fn main() { let _r = W.with_gate(|r| { if r.text.is_some() { Ok(nil) } else { Err("write a summary") } }).execute("go"); }`,
	}
	GateDetached = &Info{
		Code: "E0760", Title: "`with_gate` of a host with detached work", Noise: NotNoise,
		NoFix:   "whether exchanges should wait or the gate should go is unknown",
		Explain: "With `background = \"detach\"`, an exchange ends while its background work continues, so that a gate would decide about unfinished work.",
	}
	InvalidAsk = &Info{
		Code: "E0715", Title: "invalid `ask` handler", Noise: NotNoise,
		Explain: "`ask` as a handler forwards a question or an approval to the person at the terminal or on the relay. It is not allowed for other messages, or if the program or the manifest declares a default answer.",
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
		Code: "E0713", Title: "`listen` on a text host", Noise: NotNoise,
		Explain: "listen and stream need a host that sends one JSON object per line. Set `output_format: \"json\"` in the host's declaration, or in its section of Concerto.toml. A host with text output has only a result.",
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
		Code: "E0704", Title: `handler for a final message`, Noise: NotNoise,
		Explain: "A result or error message ends the listen. Match the Result of the listen instead.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes", "result" => |m| { emit("r", m); } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let r = listen W.execute("go") { "approval" => |m| "yes" }; emit("r", r?.text); }`,
	}
	DuplicateHandler = &Info{
		Code: "E0705", Title: `duplicate handler`, Noise: NotNoise,
		Explain: "A message type can have only one handler.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes", "approval" => |m| "no" }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |m| "yes" }; }`,
	}
	HandlerParams = &Info{
		Code: "E0706", Title: `invalid parameter of a handler`, Noise: NotNoise,
		Explain: "A handler is a closure or function with one parameter, the message.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a, b| "yes" }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes" }; }`,
	}
	NotSerialisable = &Info{
		Code: "E0707", Title: `handler value cannot be encoded as JSON`, Noise: NotNoise,
		Explain: "The value of a handler is sent to the host as JSON.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { |x: Int| x } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| { "yes" } }; }`,
	}
	NeverSent = &Info{
		Code: "E0708", Title: `message type that the host does not send`, Noise: NotNoise,
		Explain: "The host's `message_types` in Concerto.toml do not contain this type, so the handler would never run.",
		Bad: `host Q { connector: quiet }
fn main() { let _r = listen Q.execute("go") { "progres" => |p| { emit("p", p); } }; }`,
		Good: `host Q { connector: quiet }
fn main() { let _r = listen Q.execute("go") { "progress" => |p| { emit("p", p); } }; }`,
	}
	Unanswered = &Info{
		Code: "W0709", Title: `question without a handler`, Noise: InFlawedListen,
		Explain: "The host waits for an answer. Without a handler or a default, the person at the terminal is asked; without a terminal, the host receives an error. Use the handler `ask` to ask a person explicitly.",
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
		Code: "E0710", Title: `misspelled message type`, Noise: NotNoise,
		Explain: "A host can send any message type, but this one is similar to a type of the protocol. The handler would never run if it is misspelled. If the host sends this type, add it to the `message_types` of its section in Concerto.toml.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes", "progres" => |p| { emit("p", p); } }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a| "yes", "progress" => |p| { emit("p", p); } }; }`,
	}
	UnknownMember = &Info{
		Code: "W0716", Title: `unknown member of a message`, Noise: NotNoise,
		Explain: "A message may have further members, but this name is similar to a member of the message's schema. A member that the message does not have is nil.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let r = listen W.execute("go") { "approval" => |a| { println(a.descripton); "yes" } }?; println(r.text); }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let r = listen W.execute("go") { "approval" => |a| { println(a.description); "yes" } }?; println(r.text); }`,
		More: []Pair{
			{`host W { connector: worker, question_default: "" }
fn main() { let done = listen W.execute("go") { "approval" => |a| "yes" }?; println(done.txt); }`, `host W { connector: worker, question_default: "" }
fn main() { let done = listen W.execute("go") { "approval" => |a| "yes" }?; println(done.text); }`},
		},
	}
	WrongMessage = &Info{
		Code: "E0711", Title: `handler has the schema of another message`, Noise: NotNoise,
		Explain: "Each message type of the protocol has a built-in schema. A handler with the schema of another type would reject every message.",
		Bad: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a: HostQuestion| a.question }; }`,
		Good: `host W { connector: worker, question_default: "" }
fn main() { let _r = listen W.execute("go") { "approval" => |a: HostApproval| a.description }; }`,
	}
	ListenDecorated = &Info{
		Code: "W0712", Title: "`listen` on a decorated host", Noise: NotNoise,
		NoFix:   "the programmer chooses the parameters of the new function",
		Explain: "The decorators of a host apply to `execute`. They cannot repeat or stop the handlers of a `listen` or the loop over a stream, because these run in the calling function. Move the `listen` or the loop into a function of its own and decorate that function.",
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
