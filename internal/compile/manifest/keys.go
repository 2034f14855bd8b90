package manifest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/toolname"
)

// Type is the type of a key's value.
type Type uint8

// The types.
const (
	String    Type = iota
	Strings        // an array of strings
	Table          // a table of strings whose keys the user chooses
	Params         // a table of any values
	Integer        // an integer that is at least Min
	Number         // an integer or a float greater than zero
	Bool           // true or false
	Enum           // one of the key's Values
	Replies        // an array of tables: replies of the scripted provider
	Any            // any value
	ToolCalls      // an array of tables: tool calls in a scripted reply
	Failure        // a table: an error that a scripted reply returns
	Warnings       // an array of strings: codes of warnings
	Schema         // a table: a JSON Schema
	Commands       // an array of commands, each an array of strings that is not empty
	Network        // an array of addresses, or true or false for all or none
	Efforts        // reasoning efforts: an array of names, or a table of names with numbers of tokens
)

// typeNames contains the names of the types in messages and in the manual.
var typeNames = [...]string{
	String: "a string", Strings: "an array of strings", Table: "a table of strings", Params: "a table",
	Integer: "an integer", Number: "a number", Bool: "true or false", Enum: "a string", Replies: "an array of tables",
	Any: "any value", ToolCalls: "an array of tables", Failure: "a table", Warnings: "an array of strings",
	Schema: "a table", Commands: "an array of commands",
	Network: "an array of strings, or false", Efforts: "an array of strings, or a table of integers",
}

func (t Type) String() string { return typeNames[t] }

// Key is one row of the table of keys. In Path, `*` is a name that the user chooses, and `[]` is an
// element of an array.
type Key struct {
	Path    string
	Type    Type
	Unit    string // "seconds", "bytes" and so on; "" without a unit
	Default string // default as written in the manifest; "" without a default
	Values  []string
	Min     int64 // minimum of an Integer value
	Example string
	Doc     string
	Zero    bool // a Number may also be 0
	// Least and Most are the bounds of a Number; Most is also the bound of an Integer. 0 means that
	// there is no bound.
	Least, Most float64

	// Only contains the transports of hosts, or the providers of connections, for which the key has
	// an effect. It is nil if the key has an effect for all.
	Only []string

	check func(text string) error // returns an error for an invalid String, or element of Strings; nil accepts every text

	inFiles  bool // the key is allowed only in files of tools
	short    bool // the section may be written as the value of this key
	always   bool // a section without the key contains its default
	nonempty bool // a String, or the first of Strings, must not be empty

	member  string // name of the member of Config that stores the value; "" if it is the key's
	holds   holds  // how a secret in the value is recognized
	instead string // name of the key in the same section that names an environment variable for the secret

	set func(t *target, v *setting) // stores the value; if it is nil, the value becomes a member of the section's Config
}

// Section returns the section that contains the key: Path without its last name.
func (k *Key) Section() string { return k.Path[:strings.LastIndexByte(k.Path, '.')] }

// IsShort reports whether the key's section may be written as the value of the key.
func (k *Key) IsShort() bool { return k.short }

// Name returns the last name of Path.
func (k *Key) Name() string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

// target is the section whose keys the reader stores. One of the fields is set, and config may be
// set in addition.
type target struct {
	project     *Project
	dependency  *Dependency
	connection  *Connection
	host        *Host
	config      *json.RawMessage // object to which keys without set are added as members
	eval        *Eval
	permissions *Permissions
	lints       *Lints
	audit       *Audit
	relay       *Relay
	engine      *Engine
}

// The allowed values of keys such as providers and transports.
var (
	providers     = models.ProviderNames(nil)
	twoAPIs       = models.ProviderNames(func(p models.Provider) bool { return p.TwoAPIs })
	cachers       = models.ProviderNames(func(p models.Provider) bool { return p.Writes })
	tiers         = models.ProviderNames(func(p models.Provider) bool { return p.Tier != "" })
	hostTransport = []string{"stdio", claudeCode, codex, acp}
	mcpTransport  = []string{"stdio", "http"}
	backoffs      = []string{"none", "linear", "exponential"}
	samplings     = []string{models.Send, models.Refuse, models.EffortNone, models.Drop}
	thinking      = []string{"none", "budget", "adaptive", "always"}
	cacheUses     = []string{models.Marks, models.Points, models.Auto, "none"}
	formats       = []string{"text", "json"}
	stopReasons   = []string{"end", "length", "tool", "stop", "filter"}
	// settings of Codex's own sandbox
	codexSandboxes = []string{"read-only", "workspace-write", "danger-full-access"}
)

// checkForm returns an error for a text that is no form of a schema.
func checkForm(text string) error {
	if forms := []string{models.Native, models.Tool, models.Prompt}; !slices.Contains(forms, text) {
		return errors.New("not one of " + strings.Join(forms, ", "))
	}
	return nil
}

// Keys returns the table of keys, ordered by section. The caller must not change it.
var Keys = sync.OnceValue(func() []Key {
	return slices.Concat(keys, dependencyKeys, toolKeys, sandboxKeys(), runKeys, workspaceKeys(), mergeKeys(), guardKeys())
})

var keys = []Key{
	{Path: "project.name", Type: String, Example: `"demo"`, Doc: "The project's name.",
		set: func(t *target, v *setting) { t.project.Name = v.text }},
	{Path: "project.version", Type: String, Example: `"0.1.0"`, Doc: "The project's version.",
		set: func(t *target, v *setting) { t.project.Version = v.text }},
	{Path: "project.entry", Type: String, Default: `"main.conc"`, Example: `"main.conc"`, Doc: "The file that contains `main`.",
		set: func(t *target, v *setting) { t.project.Entry = v.text }},
	{Path: "project.lib", Type: String, nonempty: true, Default: `"lib.conc"`, Example: `"lib.conc"`, Doc: "The root module of the package: what it declares `pub`, other packages can use.",
		set: func(t *target, v *setting) { t.project.Lib = v.text }},
	{Path: "project.concerto", Type: String, nonempty: true, Example: `"0.2.0"`, Doc: "The oldest version of concerto that can compile the project; by default any.",
		set: func(t *target, v *setting) { t.project.Concerto = v.text }},

	{Path: "connections.*.provider", Type: Enum, Values: providers, Example: `"openai"`,
		Doc: "The protocol of the provider: OpenAI's Responses API or chat completions (also of compatible servers), Anthropic's messages, Google's generateContent, Ollama's chat, OpenAI's models on Azure, Gemini on Vertex AI, all models on Amazon Bedrock (its Converse API), or replies from a script."},
	{Path: "connections.*.api_key_env", Type: String, holds: variables, Example: `"OPENAI_API_KEY"`,
		Doc: "The environment variable that holds the key. The key itself is never stored."},
	{Path: "connections.*.token_command", Type: Strings, nonempty: true, Example: `["gcloud", "auth", "print-access-token"]`,
		Doc: "A command that prints the key, for keys that expire: a program and its arguments, started without a shell. It runs before the first call, when the key is older than 30 minutes, and when the provider refuses it. It replaces `api_key_env`."},
	{Path: "connections.*.base_url", Type: String, holds: address, Example: `"https://api.openai.com/v1"`,
		Doc: "The URL to which the provider's paths are appended, after `/v1` if it does not end in a version."},
	{Path: "connections.*.default_model", Type: String, Example: `"gpt-4o"`, Doc: "The model of agents that set none."},
	{Path: "connections.*.timeout", Type: Number, Unit: "seconds", Default: "600", Example: "60",
		Doc: "The maximum duration of one call, including retries, if the agent sets none."},
	{Path: "connections.*.connect_timeout", Type: Number, Unit: "seconds", Default: "10", Example: "5", Doc: "The maximum time to establish the connection."},
	{Path: "connections.*.first_token_timeout", Type: Number, Unit: "seconds", Example: "20",
		Doc: "The maximum time until a reply begins. With this key, replies are streamed from the provider even if the program reads them as a whole."},
	{Path: "connections.*.fallback", Type: Strings, Default: "[]", Example: `["backup"]`,
		Doc: "Connections to try, in this order, when this one fails: it is unreachable, too slow, overloaded, out of quota, or the conversation is too long for it."},
	{Path: "connections.*.organization", Type: String, Example: `"org-1"`, Doc: "Sent as OpenAI-Organization."},
	{Path: "connections.*.project", Type: String, Example: `"proj-1"`, Doc: "Sent as OpenAI-Project; the project of Google Cloud, for provider vertex."},
	{Path: "connections.*.headers", Type: Table, holds: named, instead: "headers_env", Default: "{}", Example: `{ X-Team = "search" }`, Doc: "Headers of each request."},
	{Path: "connections.*.headers_env", Type: Table, holds: variables, Example: `{ Authorization = "GATEWAY_AUTH" }`, Doc: "Headers whose values are read from the environment at each request."},
	{Path: "connections.*.extra", Type: Params, holds: named, Example: `{ top_k = 40 }`, Doc: "Members of each request's body, under the provider's own names. They take precedence over the agent's settings; tables are merged. A member that only chat completions have is an error if the connection uses the Responses API."},
	{Path: "connections.*.api_version", Type: String, Example: `"2024-10-21"`, Doc: "The version of Azure's API, for provider azure. With a date, it is that of chat completions, whose default is `2024-10-21`; another one, like `preview`, is that of the Responses API, whose default is the current version."},
	{Path: "connections.*.api", Type: Enum, Values: []string{models.Auto, models.Responses, models.Chat}, Only: twoAPIs, Default: `"auto"`, Example: `"chat"`,
		Doc: "The API of OpenAI's models: `responses`, `chat` (chat completions), or `auto`, which is `responses` for OpenAI's own servers and for Azure without a dated `api_version`, and `chat` for all other servers. With `auto`, requests with `seed` or `stop_sequences`, which only chat completions have, use `chat`, and requests that chat completions refuse use `responses`."},
	{Path: "connections.*.service_tier", Type: String, nonempty: true, Only: tiers, Example: `"flex"`,
		Doc: "The tier in which requests are processed, under the provider's own name, for example `flex` or `priority`; it determines speed and price."},
	{Path: "connections.*.cache", Type: Enum, Values: []string{models.Auto, models.CacheOff, models.CacheHour}, Only: cachers, Default: `"auto"`, Example: `"off"`,
		Doc: "Whether the provider stores the beginnings of requests, so that later ones cost less: with `auto`, it stores what later requests repeat, for at least five minutes; with `1h`, the same for an hour at Anthropic and Bedrock; with `off`, nothing."},
	{Path: "connections.*.location", Type: String, Example: `"us-central1"`, Doc: "The region of Google Cloud or `global`, for provider vertex; the region of AWS, for provider bedrock, where `AWS_REGION` is the default."},
	{Path: "connections.*.models", Type: Table, Example: `{ fast = "gpt-4o-mini" }`, Doc: "Aliases for models, to be used as an agent's `model`. If the value is a table, the name is that of a model, in which `*` matches any characters, and the table contains what the model accepts."},
	{Path: "connections.*.models.*.like", Type: String, nonempty: true, Example: `"gpt-6.2-sol"`, Doc: "The model whose built-in settings apply, for deployments and gateways with names of their own; the other keys replace them."},
	{Path: "connections.*.models.*.temperature", Type: Enum, Values: samplings, Example: `"drop"`, Doc: "Whether the model accepts `temperature`: `send`, `refuse`, or `effort_none` for only without reasoning. `drop` omits it from requests."},
	{Path: "connections.*.models.*.top_p", Type: Enum, Values: samplings, Example: `"drop"`, Doc: "The same for `top_p`."},
	{Path: "connections.*.models.*.thinking", Type: Enum, Values: thinking, Example: `"adaptive"`, Doc: "Whether the model reasons: `none`; `budget`, only with a number of tokens; `adaptive`, by default; `always`."},
	{Path: "connections.*.models.*.effort", Type: Efforts, Example: `["low", "high"]`, Doc: "The values of `reasoning_effort` that the model accepts in increasing order; a table contains the number of tokens that is sent for each, as in `{ low = 1024, high = 24576 }`."},
	{Path: "connections.*.models.*.schema", Type: Strings, check: checkForm, Example: `["native", "prompt"]`, Doc: "How the model receives a schema, the best first: `native`, a member of the request; `tool`, a tool that it must call; `prompt`, a part of the prompt."},
	{Path: "connections.*.models.*.schema_tools", Type: Strings, check: checkForm, Example: `["prompt"]`, Doc: "The same for requests with tools."},
	{Path: "connections.*.models.*.chat_tools", Type: Enum, Values: samplings[:3], Example: `"refuse"`, Doc: "Whether chat completions accept tools: `send`, `refuse`, or `effort_none` for only without reasoning."},
	{Path: "connections.*.models.*.max_output", Type: Integer, Min: 1, Unit: "tokens", Example: "64000", Doc: "The maximum length of a reply."},
	{Path: "connections.*.models.*.default_output", Type: Integer, Min: 1, Unit: "tokens", Example: "32000", Doc: "The `max_tokens` of agents that set none, for providers that require one; by default 32000 for models that reason, else 8192."},
	{Path: "connections.*.models.*.context", Type: Integer, Min: 1, Unit: "tokens", Example: "1000000", Doc: "The maximum length of a request with its reply, for `concerto models list`."},
	{Path: "connections.*.models.*.cache", Type: Enum, Values: cacheUses, Example: `"marks"`, Doc: "How requests use the provider's cache: `marks`, `points` (Bedrock), `auto` or `none`."},
	{Path: "connections.*.models.*.cache_min", Type: Integer, Min: 1, Unit: "tokens", Example: "1024", Doc: "The shortest beginning of a request that the cache stores."},
	{Path: "connections.*.script", Type: String, Example: `"replies.json"`, Doc: "A JSON or TOML file with the scripted provider's replies.",
		set: func(t *target, v *setting) { t.connection.Script = v.text }},
	{Path: "connections.*.replies", Type: Replies, holds: anything, Example: `[{ text = "yes" }]`, Doc: "The scripted provider's replies."},
	{Path: "connections.*.retry.max_attempts", always: true, Type: Integer, Min: 1, Default: "3", Example: "3", Doc: "The maximum number of attempts."},
	{Path: "connections.*.retry.backoff", always: true, Type: Enum, Values: backoffs, Default: `"exponential"`, Example: `"linear"`, Doc: "How the delay grows."},
	{Path: "connections.*.retry.initial_delay_ms", always: true, Type: Integer, Unit: "milliseconds", Default: "500", Example: "500", Doc: "The delay before the second attempt."},
	{Path: "connections.*.retry.max_delay_ms", always: true, Type: Integer, Unit: "milliseconds", Default: "30000", Example: "30000", Doc: "The longest delay."},
	{Path: "connections.*.rate_limit.requests_per_minute", Type: Integer, Min: 1, Example: "60", Doc: "Maximum number of requests in any 60 seconds; further requests wait."},
	{Path: "connections.*.rate_limit.tokens_per_minute", Type: Integer, Min: 1, Example: "100000", Doc: "Maximum number of tokens, in and out, in any 60 seconds; further requests wait."},
	{Path: "connections.*.rate_limit.max_concurrent", Type: Integer, Min: 1, Example: "4", Doc: "Maximum number of concurrent requests; further requests wait."},
	{Path: "connections.*.prices.*.input", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "2.5", Doc: "Price of the prompt's tokens."},
	{Path: "connections.*.prices.*.output", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "10.0", Doc: "Price of the reply's tokens."},
	{Path: "connections.*.prices.*.cache_read", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "0.25", Doc: "Price of the prompt's tokens that are read from the provider's cache; by default in the ratio of the vendor's prices to `input` if they are known, else `input`."},
	{Path: "connections.*.prices.*.cache_write", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "3.125", Doc: "Price of the prompt's tokens that are written to the cache; by default in that ratio, else 1.25 times `input`."},
	{Path: "connections.*.prices.*.cache_write_1h", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "5.0", Doc: "The same with a lifetime of one hour; by default in that ratio, else `cache_write`."},
	{Path: "connections.*.replies[].match", Type: String, holds: anything, Example: `"(?i)token"`, Doc: "A regular expression for the prompt; without one the reply matches every prompt."},
	{Path: "connections.*.replies[].agent", Type: String, holds: anything, Example: `"Writer"`, Doc: "Only for the agent of this name."},
	{Path: "connections.*.replies[].text", Type: String, holds: anything, Example: `"yes"`, Doc: "The reply's text."},
	{Path: "connections.*.replies[].json", Type: Any, holds: anything, Example: `{ ok = true }`, Doc: "A value whose JSON is the reply's text."},
	{Path: "connections.*.replies[].tool_calls", Type: ToolCalls, holds: anything, Example: `[{ name = "add", args = { a = 1 } }]`, Doc: "Tool calls that the model requests."},
	{Path: "connections.*.replies[].error", Type: Failure, holds: anything, Example: `{ status = 429 }`, Doc: "The request fails with this error."},
	{Path: "connections.*.replies[].delay_ms", Type: Integer, holds: anything, Unit: "milliseconds", Default: "0", Example: "100", Doc: "Wait before replying."},
	{Path: "connections.*.replies[].tokens_in", Type: Integer, holds: anything, Example: "11", Doc: "Tokens of the prompt; by default an estimate."},
	{Path: "connections.*.replies[].tokens_out", Type: Integer, holds: anything, Example: "7", Doc: "Tokens of the reply; by default an estimate."},
	{Path: "connections.*.replies[].repeat", Type: Bool, holds: anything, Default: "false", Example: "true", Doc: "The reply is never used up."},
	{Path: "connections.*.replies[].stop", Type: Enum, holds: anything, Values: stopReasons, Default: `"end"`, Example: `"length"`, Doc: "Why the model stopped."},
	{Path: "connections.*.replies[].tool_calls[].name", Type: String, holds: anything, Example: `"add"`, Doc: "The tool; the end of an offered name is sufficient."},
	{Path: "connections.*.replies[].tool_calls[].args", Type: Params, holds: anything, Example: `{ a = 1 }`, Doc: "The arguments."},
	{Path: "connections.*.replies[].tool_calls[].id", Type: String, holds: anything, Example: `"call_1"`, Doc: "The call's id; by default a number."},
	{Path: "connections.*.replies[].error.kind", Type: Enum, holds: anything, Values: []string{"status", "timeout", "connection"}, Default: `"status"`, Example: `"timeout"`, Doc: "The kind of failure: an HTTP status, a timeout, or no connection."},
	{Path: "connections.*.replies[].error.status", Type: Integer, holds: anything, Min: 400, Default: "500", Example: "429", Doc: "The HTTP status."},
	{Path: "connections.*.replies[].error.message", Type: String, holds: anything, Example: `"slow down"`, Doc: "The provider's message."},

	{Path: "hosts.*.transport", Type: Enum, Values: hostTransport, Default: `"stdio"`, Example: `"stdio"`, Doc: "The protocol on the host's standard streams: Concerto's own, that of Claude Code, that of Codex's app-server, or the Agent Client Protocol."},
	{Path: "hosts.*.command", Type: String, Example: `"python3"`, Doc: "The program to start. With a slash it is relative to the manifest, otherwise it is looked up in PATH. The default is `claude` for `claude-code`, and `codex` for `codex`."},
	{Path: "hosts.*.args", Type: Strings, Default: "[]", Example: `["hosts/worker.py"]`, Doc: "Its arguments, passed unchanged except `${manifest_dir}`, which is the manifest's directory."},
	{Path: "hosts.*.env", Type: Table, holds: named, instead: "pass_env", Default: "{}", Example: `{ MODE = "fast" }`, Doc: "Variables added to its environment; `${manifest_dir}` is the manifest's directory."},
	{Path: "hosts.*.pass_env", Type: Strings, holds: variables, Default: "[]", Example: `["WORKER_TOKEN", "AWS_*"]`, Doc: "Variables of the run's environment passed to it in addition to those that every process gets; `*` matches any characters. A variable that holds the key of a model, a server or another host is passed only if its full name is listed."},
	{Path: "hosts.*.working_dir", Type: String, Example: `"hosts"`, Doc: "Its working directory, relative to the manifest; by default the manifest's directory."},
	{Path: "hosts.*.isolate", Type: Enum, Values: []string{"none", "copy", "worktree"}, Default: `"none"`, Example: `"copy"`, Doc: "Each exchange has its own process and directory, `.concerto/tasks/RUN-HOST-N` next to the manifest: a copy of its working directory, or a git worktree on a new branch. It is removed at the end unless it was changed."},
	{Path: "hosts.*.timeout", Type: Number, Unit: "seconds", Default: "120", Example: "120", Doc: "The maximum duration of one exchange; by default 1800 for a vendor's agent."},
	{Path: "hosts.*.init_timeout", Type: Number, Unit: "seconds", Example: "20", Doc: "The maximum time until a new process is ready; by default `timeout`, else 10; 60 for a vendor's agent."},
	{Path: "hosts.*.init", Type: Bool, Default: "false", Example: "true", Only: []string{"stdio"}, Doc: "Sends the `init` message even without `params`, so that the host can report its capabilities."},
	{Path: "hosts.*.send_tools", Type: Bool, Default: "false", Example: "true", Only: []string{"stdio"}, Doc: "Lists in each prompt the tools that the host may call, as for a host with the capability `tools`."},
	{Path: "hosts.*.model", Type: String, Example: `"opus"`, Only: vendors, Doc: "The model of a vendor's agent."},
	{Path: "hosts.*.mode", Type: String, Default: `"default"`, Example: `"plan"`, Only: []string{claudeCode, acp}, Doc: "The agent's permission mode: `default`, `acceptEdits` or `plan`; for `acp` any mode that it offers. A mode that skips permission requires `unsafe_mode`."},
	{Path: "hosts.*.unsafe_mode", Type: Bool, Default: "false", Example: "true", Only: []string{claudeCode, acp}, Doc: "Allows a `mode` that skips permission."},
	{Path: "hosts.*.settings", Type: Strings, Default: "[]", Example: `["project"]`, Only: []string{claudeCode}, Doc: "The agent's own settings that it reads: `user`, `project`, `local`. Rules and hooks in them decide without a request to the program."},
	{Path: "hosts.*.approval_policy", Type: Enum, Values: []string{"untrusted", "on-request", "never"}, Default: `"untrusted"`, Example: `"on-request"`, Only: []string{codex}, Doc: "When the agent requests an approval."},
	{Path: "hosts.*.sandbox", Type: Enum, Values: codexSandboxes, Default: `"workspace-write"`, Example: `"read-only"`, Only: []string{codex}, member: "codex_sandbox", Doc: "The files that the agent's commands may access, by its own sandbox. A section `sandbox` is Concerto's; next to it this key is called `codex_sandbox`."},
	{Path: "hosts.*.codex_sandbox", Type: Enum, Values: codexSandboxes, Default: `"workspace-write"`, Example: `"danger-full-access"`, Only: []string{codex}, Doc: "The same as the key `sandbox`, for a host with a section `sandbox`."},
	{Path: "hosts.*.telemetry", Type: Bool, Example: "false", Doc: "Whether it receives the variables of OpenTelemetry, so that its own spans become a part of the run's trace ([40](40-telemetry.md)); by default only a vendor's agent does."},
	{Path: "hosts.*.session", Type: Enum, Values: []string{"keep", "fresh"}, Default: `"keep"`, Example: `"fresh"`, Only: vendors, Doc: "Whether exchanges with one process share one conversation, or each begins a new one."},
	{Path: "hosts.*.background", Type: Enum, Values: []string{"wait", "forbid", "detach"}, Default: `"wait"`, Example: `"detach"`, Only: vendors, Doc: "The treatment of subagents, workflows and commands that run on when the agent's turn has ended: an exchange waits for them, stops them and fails, or ends and lets them run ([50](50-agents.md))."},
	{Path: "hosts.*.background_timeout", Type: Number, Unit: "seconds", Example: "600", Only: vendors, Doc: "The maximum time for which an exchange waits for background work after its first turn; by default the rest of `timeout`."},
	{Path: "hosts.*.schema_repairs", Type: Integer, Most: 3, Default: "1", Example: "2", Doc: "The maximum number of further turns that an exchange with a schema begins because its result does not fit; 0 for a host that reads no JSON."},
	{Path: "hosts.*.gate", Type: Commands, Example: `[["go", "test", "./..."]]`, Doc: "The commands of `with_gate()`: each must exit with 0 before an exchange ends, a program and its arguments, without a shell; by default those of `gate` in [workspace]."},
	{Path: "hosts.*.gate_timeout", Type: Number, Unit: "seconds", Example: "600", Doc: "The maximum duration of each of them; by default that of [workspace]."},
	{Path: "hosts.*.on_plan_limit", Type: Enum, Values: []string{"fail", "wait"}, Default: `"fail"`, Example: `"wait"`, Doc: "The behaviour of an exchange when the host has reached a limit of its vendor's plan: it fails, or waits until the limit no longer applies and continues ([45](45-fleets.md#limits-of-a-vendors-plan))."},
	{Path: "hosts.*.max_wait", Type: Number, Unit: "seconds", Default: "86400", Example: "21600", Doc: "The maximum time for which an exchange waits for a limit of the plan. A longer one fails at once."},
	{Path: "hosts.*.question_timeout", Type: Number, Unit: "seconds", Example: "30", Doc: "The maximum time to answer one question or approval."},
	{Path: "hosts.*.question_default", Type: String, Example: `"yes"`, Doc: "The answer to a question without another answer."},
	{Path: "hosts.*.approval_default", Type: String, Example: `"no"`, Doc: "The answer to an approval without another answer; by default `no` for a vendor's agent and for a host with `permissions`."},
	{Path: "hosts.*.input_format", Type: Enum, Values: formats, Example: `"json"`, Doc: "The form of prompts; the declaration's own takes precedence."},
	{Path: "hosts.*.output_format", Type: Enum, Values: formats, Example: `"json"`, Doc: "The form of the host's lines; the declaration's own takes precedence."},
	{Path: "hosts.*.message_types", Type: Strings, Example: `["progress", "question"]`, Doc: "The message types that it sends; a handler for another type is an error."},
	{Path: "hosts.*.instances", Type: Integer, Min: 1, Default: "1", Example: "2", Doc: "Maximum number of concurrent processes."},
	{Path: "hosts.*.max_line", Type: Integer, Min: 1, Unit: "bytes", Default: "16777216", Example: "16777216", Doc: "The maximum length of a line that it sends."},
	{Path: "hosts.*.heartbeat", Type: Number, Unit: "seconds", Example: "60", Doc: "The maximum time without a line from the host during an exchange, while it does not wait for an answer. Then the exchange fails, and the host is terminated."},
	{Path: "hosts.*.idle_seconds", Type: Number, Unit: "seconds", Example: "300", Doc: "A process that has been idle for this time is terminated; without the key it lives until the run ends."},
	{Path: "hosts.*.cancel_grace", Type: Number, Unit: "seconds", Default: "5", Example: "30", Doc: "The maximum time in which a host with the capability `cancel` must send its terminal message when an exchange ends early."},
	{Path: "hosts.*.params", Type: Params, holds: named, instead: "params_env", Example: `{ model = "opus" }`, Doc: "Parameters, sent in the `init` message. Any TOML value.",
		set: func(t *target, v *setting) { t.host.Params = v.json }},
	{Path: "hosts.*.limits.memory_mb", Type: Integer, Min: 1, Unit: "MiB", Example: "2048", Doc: "Maximum memory of a process and its child processes. Exceeding it terminates them, as with all limits except `open_files`."},
	{Path: "hosts.*.limits.cpu_seconds", Type: Number, Unit: "seconds", Example: "600", Doc: "Maximum CPU time of all of them together."},
	{Path: "hosts.*.limits.wall_seconds", Type: Number, Unit: "seconds", Example: "3600", Doc: "The maximum lifetime of a process."},
	{Path: "hosts.*.limits.processes", Type: Integer, Min: 1, Example: "50", Doc: "Maximum number of concurrent processes, including the host's own."},
	{Path: "hosts.*.limits.open_files", Type: Integer, Min: 16, Example: "1024", Doc: "Maximum number of open files of each process; opening more fails."},

	{Path: "hosts.*.limits.cost_usd", Type: Number, Unit: "US dollars", Example: "0.5", Doc: "Maximum cost of one exchange. An exchange that exceeds it is stopped, and fails with the code `limit_cost`."},
	{Path: "hosts.*.limits.tokens", Type: Integer, Min: 1, Unit: "tokens", Example: "200000", Doc: "Maximum tokens of one exchange, in and out. Code `limit_tokens`."},
	{Path: "hosts.*.limits.turns", Type: Integer, Min: 1, Example: "40", Doc: "Maximum number of turns of one exchange, as the host reports them. Code `limit_turns`."},
	{Path: "hosts.*.limits.run_cost_usd", Type: Number, Unit: "US dollars", Example: "5.0", Doc: "Maximum cost of all exchanges of the host in a run."},
	{Path: "hosts.*.limits.run_tokens", Type: Integer, Min: 1, Unit: "tokens", Example: "2000000", Doc: "Maximum tokens of all exchanges of the host in a run."},
	{Path: "hosts.*.limits.reserve_usd", Type: Number, Unit: "US dollars", Example: "0.5", Doc: "The reservation of an exchange, of all limits on costs, when it starts and each time it has used what it reserved; by default `cost_usd`, else 0.50 or what remains."},
	{Path: "hosts.*.limits.reserve_tokens", Type: Integer, Min: 1, Unit: "tokens", Example: "50000", Doc: "The same of the limits on tokens; by default `tokens`, else 50000 or what remains."},
	{Path: "hosts.*.prices.input", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "3.0", Doc: "Price of the input tokens."},
	{Path: "hosts.*.prices.output", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "15.0", Doc: "Price of the output tokens."},
	{Path: "hosts.*.prices.cached", Type: Number, Zero: true, Unit: "US dollars for a million tokens", Example: "0.3", Doc: "Price of the input tokens that were read from a cache; by default `input`."},

	{Path: "hosts.*.permissions.read", Type: Strings, Default: "[]", Example: `["."]`, check: hostpolicy.CheckRoot, Doc: "Directories and files that the host may read without asking, relative to the manifest."},
	{Path: "hosts.*.permissions.write", Type: Strings, Default: "[]", Example: `["src"]`, check: hostpolicy.CheckRoot, Doc: "The same for files that it may write, delete and move."},
	{Path: "hosts.*.permissions.deny", Type: Strings, Default: "[]", Example: `[".env", "secrets/**"]`, check: hostpolicy.CheckGlob, Doc: "Globs of files that it may neither read nor write, also in those directories; relative to the manifest and to the working directory. A plain name matches at any depth; case is ignored."},
	{Path: "hosts.*.permissions.default", Type: Enum, Values: []string{"ask", "allow", "deny"}, Default: `"ask"`, Example: `"deny"`, Doc: "The decision for everything that no other key names: the program's handler decides (`ask`), or it is allowed or denied without a question."},
	{Path: "hosts.*.permissions.commands.allow", Type: Strings, Default: "[]", Example: `["go test *"]`, check: hostpolicy.CheckCommand, Doc: "Globs of commands that it may run without asking; `*` matches any text, `?` one character. They never allow a command with a character that has a meaning to a shell."},
	{Path: "hosts.*.permissions.commands.ask", Type: Strings, Default: "[]", Example: `["git push*"]`, check: hostpolicy.CheckCommand, Doc: "Globs of commands that the program's handler must approve, even if another glob allows them. Every command that a shell would run is matched, without its path, quotes, `sudo`, `env`, `sh -c` and the like."},
	{Path: "hosts.*.permissions.commands.deny", Type: Strings, Default: "[]", Example: `["rm *"]`, check: hostpolicy.CheckCommand, Doc: "Globs of commands that it may not run, matched in the same way. A deny list is not a sandbox: the actions of a command are not checked."},
	{Path: "hosts.*.permissions.net.allow", Type: Strings, Default: "[]", Example: `["packages.example.org", "*.docs.example.org:443"]`, check: hostpolicy.CheckAddress, Doc: "Addresses that the host may reach without asking, for approvals of the kind `fetch`. Without a port, 443 and 80 are meant."},
	{Path: "hosts.*.permissions.net.ask", Type: Strings, Default: "[]", Example: `["*.internal.example"]`, check: hostpolicy.CheckAddress, Doc: "Addresses that the program's handler must approve, even if another entry allows them. Without a port, every port is meant."},
	{Path: "hosts.*.permissions.net.deny", Type: Strings, Default: "[]", Example: `["*.evil.example"]`, check: hostpolicy.CheckAddress, Doc: "Addresses that it may not reach, in the same way. A list is not a sandbox: `[hosts.X.sandbox] net` limits what its processes reach."},
	{Path: "hosts.*.params_env", Type: Table, holds: variables, Example: `{ token = "WORKER_TOKEN" }`, Doc: "Parameters whose values are read from the environment when the host is started."},

	{Path: "mcp.*.transport", Type: Enum, Values: mcpTransport, Default: `"stdio"`, Example: `"stdio"`, Doc: "The transport to the server."},
	{Path: "mcp.*.command", Type: String, Example: `"uvx"`, Doc: "The program to start, for transport stdio."},
	{Path: "mcp.*.args", Type: Strings, Default: "[]", Example: `["server"]`, Doc: "Its arguments; `${manifest_dir}` is the manifest's directory."},
	{Path: "mcp.*.url", Type: String, holds: address, instead: "headers_env", Example: `"http://localhost:8080/mcp"`, Doc: "The server's address, for transport http."},
	{Path: "mcp.*.env", Type: Table, holds: named, instead: "pass_env", Default: "{}", Example: `{ MODE = "fast" }`, Doc: "Variables added to its environment; `${manifest_dir}` is the manifest's directory."},
	{Path: "mcp.*.pass_env", Type: Strings, holds: variables, Default: "[]", Example: `["GITHUB_TOKEN", "AWS_*"]`, Doc: "Variables of the run's environment passed to it in addition to those that every process gets, as `pass_env` of a host."},
	{Path: "mcp.*.headers", Type: Table, holds: named, instead: "headers_env", Default: "{}", Example: `{ X-Team = "search" }`, Doc: "Headers of each request, for transport http."},
	{Path: "mcp.*.headers_env", Type: Table, holds: variables, Example: `{ Authorization = "DOCS_AUTHORIZATION" }`, Doc: "Headers whose values are read from the environment when connecting to the server."},
	{Path: "mcp.*.timeout", Type: Number, Unit: "seconds", Default: "60", Example: "60", Doc: "The maximum duration of one call."},

	{Path: "mcp.*.oauth.client_id", Type: String, nonempty: true, Example: `"concerto-docs"`, Doc: "The id of a client that is registered at the authorization server. Without it, the client is `client_metadata_url`, or Concerto registers one."},
	{Path: "mcp.*.oauth.client_secret_env", Type: String, holds: variables, nonempty: true, Example: `"DOCS_CLIENT_SECRET"`, Doc: "The environment variable with the secret of that client."},
	{Path: "mcp.*.oauth.client_metadata_url", Type: String, holds: address, nonempty: true, Example: `"https://example.org/concerto.json"`, Doc: "The address of a client metadata document, used if the authorization server supports it."},
	{Path: "mcp.*.oauth.scopes", Type: Strings, check: checkScope, Example: `["docs.read"]`, Doc: "The scopes to request; by default those that the server names."},
	{Path: "mcp.*.oauth.redirect_port", Type: Integer, Min: 1, Most: 65535, Example: "8912", Doc: "The port on 127.0.0.1 to which the authorization server redirects the browser, for a client that is registered with one; by default a free port."},
	{Path: "mcp.*.oauth.grant", Type: Enum, Values: []string{"authorization_code", "client_credentials"}, Default: `"authorization_code"`, Example: `"client_credentials"`, Doc: "How Concerto gets access: a person logs in with `concerto mcp login`, or each run uses `client_id` and its secret."},

	{Path: "eval.dir", Type: String, nonempty: true, Default: `"evals"`, Example: `"build/evals"`, Doc: "The directory of results and tapes, relative to the manifest.",
		set: func(t *target, v *setting) { t.eval.Dir = v.text }},
	{Path: "eval.parallel", Type: Integer, Min: 1, Default: "4", Example: "8", Doc: "Number of samples that run at the same time.",
		set: func(t *target, v *setting) { t.eval.Parallel = int(v.integer) }},
	{Path: "eval.max_cost_usd", Type: Number, Unit: "US dollars", Example: "2.0", Doc: "Maximum cost of all samples of `concerto eval`, in addition to [limits].",
		set: func(t *target, v *setting) { t.eval.MaxCostUSD = v.number }},
	{Path: "eval.max_errors", Type: Integer, Min: 0, Default: "0", Example: "3", Doc: "Number of samples with errors that `concerto eval` accepts.",
		set: func(t *target, v *setting) { t.eval.MaxErrors = int(v.integer) }},

	{Path: "limits.max_run_seconds", Type: Number, Unit: "seconds", Example: "600", Doc: "The run is cancelled after this time."},
	{Path: "limits.max_memory_mb", Type: Integer, Min: 1, Unit: "MiB", Example: "512", Doc: "Maximum memory of the program's values. Exceeding it is a `RuntimeError`."},
	{Path: "limits.max_tokens", Type: Integer, Min: 1, Unit: "tokens", Example: "100000", Doc: "Maximum tokens of all models and hosts together, in and out. A call or exchange that could exceed it does not start; a host that exceeds it is stopped."},
	{Path: "limits.max_cost_usd", Type: Number, Unit: "US dollars", Example: "5.0", Doc: "Maximum cost of all models and hosts together: of models by the connections' `prices`, of hosts as they report it. A call or exchange that could exceed it does not start; a host that exceeds it is stopped."},
	{Path: "limits.max_day_tokens", Type: Integer, Min: 1, Unit: "tokens", Example: "10000000", Doc: "The same as `max_tokens` for all runs with the same `day_file` since midnight, local time."},
	{Path: "limits.max_day_cost_usd", Type: Number, Unit: "US dollars", Example: "20.0", Doc: "The same as `max_cost_usd` for all runs with the same `day_file` since midnight, local time."},
	{Path: "limits.day_file", Type: String, nonempty: true, Default: `".concerto/spent.db"`, Example: `"/var/lib/agents/spent.db"`, Doc: "The file in which runs store what they use on a day, relative to the manifest. It is written if this key or a limit of the day is set; `concerto budget` reads it."},
	{Path: "limits.max_tasks", Type: Integer, Min: 1, Example: "100", Doc: "Maximum number of concurrent tasks."},
	{Path: "limits.max_test_seconds", Type: Number, Unit: "seconds", Default: "60", Example: "120", Doc: "The maximum real time of one test. `concerto test --timeout` overrides it; a `--live` run has no other limit than that flag."},

	{Path: "permissions.default", Type: Enum, Values: []string{"allow", "deny"}, Default: `"allow"`, Example: `"deny"`, Doc: "Whether files, environment and network may be used if `fs`, `env` or `net` is not set: entirely, or not at all.",
		set: func(t *target, v *setting) { t.permissions.Default = v.text }},
	{Path: "permissions.fs", Type: Strings, Example: `["data"]`, Doc: "Directories whose files may be read and written, and no others. Without the key `default` applies.",
		set: func(t *target, v *setting) { t.permissions.FS = append([]string{}, v.texts...) }},
	{Path: "permissions.env", Type: Strings, Example: `["HOME"]`, Doc: "Environment variables that may be read, and no others. Without the key `default` applies.",
		set: func(t *target, v *setting) { t.permissions.Env = append([]string{}, v.texts...) }},
	{Path: "permissions.net", Type: Strings, Example: `["api.example.com"]`, Doc: "Network hosts that may be called, and no others. Without the key `default` applies.",
		set: func(t *target, v *setting) { t.permissions.Net = append([]string{}, v.texts...) }},
	{Path: "permissions.tools", Type: Strings, Example: `["Calc", "Files::read"]`, Doc: "Tools, or functions of tools, that models, hosts and `dispatch_tool` may call. Without the key they may call all.",
		set: func(t *target, v *setting) { t.permissions.Tools = append([]string{}, v.texts...) }},
	{Path: "permissions.run", Type: Strings, Default: "[]", Example: `["git"]`, Doc: "Commands that the tool RunCommand may start.",
		set: func(t *target, v *setting) { t.permissions.Run = v.texts }},
	{Path: "permissions.approve", Type: Strings, Default: "[]", Example: `["deploy", "category:db"]`, check: toolname.CheckFilter, Doc: "Tools of the application, or categories of them, whose calls require approval, in addition to the tools that declare it themselves.",
		set: func(t *target, v *setting) { t.permissions.Approve = v.texts }},

	{Path: "audit.file", Type: String, Example: `"audit.ndjson"`, Doc: "The file in which every call of a tool is recorded, in tamper-evident lines. `--audit` sets another file.",
		set: func(t *target, v *setting) { t.audit.File = v.text }},

	{Path: "relay.share", Type: Bool, Default: "false", Example: "true", Doc: "Whether each run is reported to the relay, through the hostd of this machine, so that people there can answer, as with `--share`.",
		set: func(t *target, v *setting) { t.relay.Share = v.yes }},
	{Path: "relay.title", Type: String, Example: `"nightly triage"`, Doc: "The name of its runs at the relay, instead of the project's name.",
		set: func(t *target, v *setting) { t.relay.Title = v.text }},

	{Path: "engine.url_env", Type: String, nonempty: true, holds: variables, Example: `"RUNS_DATABASE"`, Doc: "The environment variable that contains the URL of the engine, if `CONCERTO_ENGINE` is not set.",
		set: func(t *target, v *setting) { t.engine.URLEnv = v.text }},

	{Path: "lints.allow", Type: Warnings, Default: "[]", Example: `["W0409"]`, Doc: "Codes of warnings to suppress. `@allow` before a declaration suppresses them for that declaration.",
		set: func(t *target, v *setting) { t.lints.Allow = v.texts }},
	{Path: "lints.deny", Type: Warnings, Default: "[]", Example: `["W0220"]`, Doc: "Codes of warnings that count as errors. `check` and `test` deny all warnings with `--deny-warnings`.",
		set: func(t *target, v *setting) { t.lints.Deny = v.texts }},
}
