package manifest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/google/go-cmp/cmp"
)

// lines formats diagnostics as `line:col: code: message (hint)`, one per line.
func lines(l diag.List) string {
	var b strings.Builder
	for _, d := range l.Sorted() {
		fmt.Fprintf(&b, "%s: %s: %s", d.File.Position(d.Span.Start), d.Info.Code, d.Message)
		for _, h := range d.Hints {
			fmt.Fprintf(&b, " (%s)", h)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func parse(text string) (*Manifest, diag.List) {
	return Parse(source.NewFile("Concerto.toml", []byte(text)))
}

func TestEveryKeyIsRead(t *testing.T) {
	m, l := parse(`
[project]
name = "demo"
version = "0.1.0"
entry = "src/main.conc"

[connections.main]
provider = "openai"
api_key_env = "OPENAI_API_KEY"
base_url = "http://127.0.0.1:9/v1"
default_model = "gpt-4o"
timeout = 30
organization = "org"
project = "proj"
models = { fast = "gpt-4o-mini", "big one" = "gpt-4o" }
connect_timeout = 2
first_token_timeout = 7.5
fallback = ["rules", "scripted"]
[connections.main.retry]
max_attempts = 5
backoff = "linear"
initial_delay_ms = 0
max_delay_ms = 100
[connections.main.rate_limit]
requests_per_minute = 60
tokens_per_minute = 1000
max_concurrent = 2
[connections.main.prices]
"*" = { input = 1, output = 0 }
[connections.main.prices.gpt-4o]
input = 2.5
output = 10.0

[connections.rules]
provider = "scripted"
[[connections.rules.replies]]
match = "a+"
text = "yes"
[[connections.rules.replies]]
json = { ok = true, n = 1.0 }
repeat = true

[hosts.worker]
transport = "stdio"
command = "python3"
args = ["a.py", "--x"]
working_dir = "hosts"
timeout = 1.5
question_timeout = 2
question_default = ""
approval_default = "no"
input_format = "json"
output_format = "json"
message_types = []
instances = 3
max_line = 1024
env = { B = "2", A = "1" }
[hosts.worker.params]
model = "opus"
[hosts.worker.params_env]
token = "WORKER_TOKEN"

[mcp.files]
command = "uvx"
args = ["files"]
env = { X = "y" }
timeout = 5
[mcp.web]
url = "http://localhost/mcp"

[limits]
max_run_seconds = 60
max_memory_mb = 512
max_tokens = 1000
max_cost_usd = 0.5
max_tasks = 10

[permissions]
fs = ["data"]
env = ["HOME"]
net = []
tools = ["Calc"]
run = ["git"]
`)
	if l.Len() != 0 {
		t.Fatal(lines(l))
	}
	want := &Manifest{
		Project: Project{Name: "demo", Version: "0.1.0", Entry: "src/main.conc"},
		Connections: []*Connection{{
			Name: "main", Provider: "openai", APIKeyEnv: "OPENAI_API_KEY", BaseURL: "http://127.0.0.1:9/v1",
			DefaultModel: "gpt-4o", Timeout: 30, Fallback: []string{"rules", "scripted"}, Models: map[string]string{"fast": "gpt-4o-mini", "big one": "gpt-4o"},
			Prices: map[string]models.Rates{"*": {Input: 1}, "gpt-4o": {Input: 2.5, Output: 10}},
			Config: []byte(`{"provider":"openai","api_key_env":"OPENAI_API_KEY","base_url":"http://127.0.0.1:9/v1","default_model":"gpt-4o","timeout":30,` +
				`"organization":"org","project":"proj","models":{"fast":"gpt-4o-mini","big one":"gpt-4o"},"connect_timeout":2,"first_token_timeout":7.5,"fallback":["rules","scripted"],` +
				`"retry":{"max_attempts":5,"backoff":"linear","initial_delay_ms":0,"max_delay_ms":100},` +
				`"rate_limit":{"requests_per_minute":60,"tokens_per_minute":1000,"max_concurrent":2},"prices":{"*":{"input":1,"output":0},"gpt-4o":{"input":2.5,"output":10.0}}}`),
		}, {
			Name: "rules", Provider: "scripted",
			Config: []byte(`{"provider":"scripted","replies":[{"match":"a+","text":"yes"},{"json":{"ok":true,"n":1.0},"repeat":true}]}`),
		}},
		Hosts: []*Host{{
			Name: "worker", Params: []byte(`{"model":"opus"}`),
			Config: []byte(`{"transport":"stdio","command":"python3","args":["a.py","--x"],"working_dir":"hosts","timeout":1.5,"question_timeout":2,` +
				`"question_default":"","approval_default":"no","input_format":"json","output_format":"json","message_types":[],"instances":3,"max_line":1024,` +
				`"env":{"B":"2","A":"1"},"params_env":{"token":"WORKER_TOKEN"}}`),
		}},
		MCP: []*MCP{
			{Name: "files", Config: []byte(`{"command":"uvx","args":["files"],"env":{"X":"y"},"timeout":5}`)},
			{Name: "web", Config: []byte(`{"url":"http://localhost/mcp"}`)},
		},
		Limits:      Limits{Config: []byte(`{"max_run_seconds":60,"max_memory_mb":512,"max_tokens":1000,"max_cost_usd":0.5,"max_tasks":10}`)},
		Permissions: &Permissions{FS: []string{"data"}, Env: []string{"HOME"}, Net: []string{}, Tools: []string{"Calc"}, Run: []string{"git"}},
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".At" || p.Last().String() == ".File" }, cmp.Ignore())
	if d := cmp.Diff(want, m, ignore); d != "" {
		t.Error(d)
	}
	if got := m.Line(m.Connection("main").At, "api_key_env"); got != 9 {
		t.Errorf("line of api_key_env = %d, want 9", got)
	}
	if got := m.Line(m.Host("worker").At, "instances_"); got != 43 {
		t.Errorf("line of [hosts.worker] = %d, want 43", got)
	}
	if m.Connection("none") != nil || m.Host("none") != nil {
		t.Error("the manifest has a connection or host named none, want no such section")
	}
}

// TestKeysAreStored checks that each key is stored: by its set, or in the Config of a section that
// has one. The keys of replies are stored as one value.
func TestKeysAreStored(t *testing.T) {
	configured := []string{"connections", "guard", "hosts", "limits", "mcp", "merge", "run", "tools", "workspace"}
	for _, k := range Keys() {
		section, _, _ := strings.Cut(k.Path, ".")
		if k.set == nil && !slices.Contains(configured, section) {
			t.Errorf("%s has no set, and [%s] no Config: the value of the key is lost", k.Path, section)
		}
	}
}

// TestExamplesAreAccepted checks that the example and the default of every key in the table are
// valid values of the key.
func TestExamplesAreAccepted(t *testing.T) {
	for _, k := range Keys() {
		if k.inFiles { // TestToolErrors checks the keys of tool files
			continue
		}
		for _, example := range []string{k.Example, k.Default} {
			if example == "" {
				continue
			}
			path := strings.Replace(strings.Replace(k.Path, "agents.*", "agents.codex", 1), "*", "x", 1)
			var text string
			switch section, tail, _ := strings.Cut(path, "replies[]."); {
			case tail != "":
				value := example
				if sub, name, nested := strings.Cut(tail, "[]."); nested {
					value = fmt.Sprintf("[{ %s = %s, name = \"n\" }]", name, example)
					if name == "name" {
						value = fmt.Sprintf("[{ name = %s }]", example)
					}
					tail = sub
				}
				text = fmt.Sprintf("[connections.x]\nprovider = \"scripted\"\n[[%sreplies]]\n%s = %s\n", section, tail, value)
			default:
				text = fmt.Sprintf("%s = %s\n", strings.ReplaceAll(path, "*", "m"), example)
				switch {
				case k.Name() == "fallback":
					text += "connections.backup.provider = \"scripted\"\n"
				case strings.HasPrefix(k.Path, "connections.*.prices."):
					for _, other := range []string{"input", "output"} {
						if other != k.Name() {
							text += fmt.Sprintf("connections.x.prices.m.%s = 1.0\n", other)
						}
					}
				}
				switch k.Path { // an entry of [dependencies] needs other keys
				case "dependencies.*.git":
					text += "dependencies.x.tag = \"v1.0.0\"\n"
				case "dependencies.*.dir":
					text += "dependencies.x.git = \"https://example.com/x\"\ndependencies.x.tag = \"plan/v1.0.0\"\n"
				case "dependencies.*.tag", "dependencies.*.commit":
					text += "dependencies.x.git = \"https://example.com/x\"\n"
				}
				if strings.HasPrefix(k.Path, "permissions.") && k.Name() != "default" {
					text += "permissions.default = \"deny\"\n"
				}
				if k.Only != nil && k.Section() == "hosts.*" {
					text += fmt.Sprintf("hosts.x.transport = %q\n", k.Only[0])
				}
				for prefix, need := range map[string]string{"connections.": "connections.x.provider = \"openai\"\n", "hosts.": "hosts.x.command = \"c\"\n", "mcp.": "mcp.x.command = \"c\"\nmcp.x.url = \"u\"\n", "mcp.x.oauth.": "mcp.x.oauth.client_id = \"i\"\nmcp.x.oauth.client_secret_env = \"S\"\n", "tools.": toolNeeds(k)} {
					for line := range strings.Lines(need) {
						if strings.HasPrefix(path, prefix) && !strings.HasPrefix(line, path+" ") {
							text += line
						}
					}
				}
			}
			if _, l := parse(text); l.Len() != 0 {
				t.Errorf("%s: diagnostics for the manifest\n%s\n%s", k.Path, text, lines(l))
			}
		}
		if k.Doc == "" || k.Example == "" {
			t.Errorf("key %s has no Doc or no Example", k.Path)
		}
	}
}

// toolNeeds returns the lines that a tool needs in addition to the key k.
func toolNeeds(k Key) string {
	parts := strings.Split(k.Path, ".")
	if parts[0] != "tools" {
		return ""
	}
	need := "tools.x.description = \"d\"\n"
	switch handler := parts[2]; handler {
	case "command", "http":
		return need + "tools.x." + handler + "." + map[string]string{"command": "run = [\"c\"]\n", "http": "url = \"https://x\"\n"}[handler]
	case "mcp":
		return "tools.x.mcp.server = \"s\"\ntools.x.mcp.tool = \"t\"\n"
	case "concerto":
		return "tools.x.concerto.file = \"s\"\ntools.x.concerto.function = \"t\"\n"
	}
	return need + "tools.x.command.run = [\"c\"]\n"
}

func TestCatalogue(t *testing.T) {
	for _, i := range diag.Catalogue() {
		parse := parse
		switch {
		case i.Tools:
			parse = func(text string) (*Manifest, diag.List) {
				_, l := parseTools(text)
				return nil, l
			}
		case !i.Manifest:
			continue
		}
		fixes := 0
		for _, p := range i.Pairs() {
			_, bad := parse(p.Bad)
			fixes += checkFixes(t, parse, i, bad, p.Bad)
			if codes := fmt.Sprint(codes(bad)); codes != "["+i.Code+"]" {
				t.Errorf("%s: codes for the bad example = %s, want only this code:\n%s", i.Code, codes, lines(bad))
			}
			if _, good := parse(p.Good); good.Len() != 0 {
				t.Errorf("%s: diagnostics for the good example:\n%s", i.Code, lines(good))
			}
		}
		if (fixes > 0) == (i.NoFix != "") && len(i.Pairs()) > 0 {
			t.Errorf("%s: number of fixes for its examples = %d, NoFix = %q, want either fixes or NoFix", i.Code, fixes, i.NoFix)
		}
	}
}

// checkFixes applies each fix of the diagnostics and returns the number of fixes. The fixed text
// must no longer have the diagnostic i. After a safe fix, it must have no diagnostics.
func checkFixes(t *testing.T, parse func(string) (*Manifest, diag.List), i *diag.Info, found diag.List, text string) (n int) {
	t.Helper()
	for _, d := range found.Sorted() {
		for _, f := range d.Fixes {
			n++
			fixed := string(repair.Apply(d.File, f.Edits))
			_, left := parse(fixed)
			if all := codes(left); slices.Contains(all, i.Code) || f.Safe && len(all) > 0 {
				t.Errorf("%s: after fix %q the text\n%s\n(before:\n%s)\nhas the diagnostics:\n%s", i.Code, f.Title, fixed, text, lines(left))
			}
		}
	}
	return n
}

// TestFixKeepsSecretHidden adds a comment with a secret to each line of the bad examples. A fix
// must not change these secrets in the file. Messages, hints and fixes must not contain the secret,
// and a fix must not write asterisks, which replace it in messages, into the file.
func TestFixKeepsSecretHidden(t *testing.T) {
	const key = "sk-proj-Abc123Def456Ghi789Jkl012"
	for _, i := range diag.Catalogue() {
		if !i.Manifest && !i.Tools {
			continue
		}
		for _, p := range i.Pairs() {
			lines := strings.Split(strings.TrimSuffix(p.Bad, "\n"), "\n")
			text := strings.Join(lines, " # "+key+"\r\n") + " # " + key + "\n"
			found := parseAs(i, text)
			for _, d := range found.Sorted() {
				if strings.Contains(d.Message+strings.Join(d.Hints, ""), "Abc123") {
					t.Errorf("%s: the diagnostic contains the secret: %s, hints %q", i.Code, d.Message, d.Hints)
				}
				for _, f := range d.Fixes {
					fixed := string(repair.Apply(d.File, f.Edits))
					if strings.Count(fixed, key) != len(lines) || strings.Contains(fixed, "**") {
						t.Errorf("%s: fix %q changed the secrets: after\n%s\nbefore\n%s", i.Code, f.Title, fixed, text)
					}
					for _, e := range f.Edits {
						if strings.Contains(f.Title+e.Text, "Abc123") || strings.Contains(string(repair.Show(d.File, f.Edits)), "Abc123") {
							t.Errorf("%s: fix %q contains the secret: %q", i.Code, f.Title, e.Text)
						}
					}
				}
			}
		}
	}
}

// parseAs parses text as a tool file or as a manifest, depending on i, and returns the diagnostics.
func parseAs(i *diag.Info, text string) diag.List {
	if i.Tools {
		_, found := parseTools(text)
		return found
	}
	_, found := parse(text)
	return found
}

func codes(l diag.List) []string {
	var out []string
	for _, d := range l.Sorted() {
		out = append(out, d.Info.Code)
	}
	return out
}

func TestConfig(t *testing.T) {
	m, l := parse("[connections.a]\nprovider = \"openai\"\napi_key_env = \"KEY\"\nmodels = { b = \"<2>\", a = \"1\" }\nretry = { max_attempts = 2 }\nrate_limit = { max_concurrent = 1 }\n" +
		"[connections.b]\nprovider = \"scripted\"\nreplies = [{ text = \"x\" }]\n[connections.c]\nprovider = \"scripted\"\nscript = \"r.json\"\n")
	if l.Len() != 0 {
		t.Fatal(lines(l))
	}
	a, b, x := m.Connection("a"), m.Connection("b"), m.Connection("c")
	for _, c := range []struct{ got, want string }{
		{string(a.Embedded(nil, m.Origin(a))), `{"provider":"openai","api_key_env":"KEY","models":{"b":"<2>","a":"1"},"retry":{"max_attempts":2,"backoff":"exponential","initial_delay_ms":500,"max_delay_ms":30000},"rate_limit":{"max_concurrent":1},"origin":"Concerto.toml:3"}`},
		{string(b.Embedded(nil, m.Origin(b))), `{"provider":"scripted","replies":[{"text":"x"}],"origin":"Concerto.toml:7"}`},
		{string(x.Embedded([]byte(`[]`), "")), `{"provider":"scripted","replies":[]}`},
	} {
		if c.got != c.want {
			t.Errorf("configuration = %s, want %s", c.got, c.want)
		}
	}
}

// TestPermissionsOfAHost checks the configuration of hosts. If a host has permissions, unanswered
// requests are denied by default. The section permissions is an object.
func TestPermissionsOfAHost(t *testing.T) {
	m, l := parse("[hosts.w]\ncommand = \"c\"\n[hosts.w.permissions]\nread = [\".\"]\ncommands.deny = [\"rm *\"]\n[hosts.x]\ncommand = \"c\"\napproval_default = \"yes\"\npermissions = {}\n")
	if l.Len() != 0 {
		t.Fatal(lines(l))
	}
	for i, want := range []string{
		`{"command":"c","permissions":{"read":["."],"commands":{"deny":["rm *"]}},"approval_default":"no","assumed":["approval_default"]}`,
		`{"command":"c","approval_default":"yes","permissions":{}}`,
	} {
		if got := string(m.Hosts[i].Config); got != want {
			t.Errorf("configuration of the host\n got %s\nwant %s", got, want)
		}
	}
}

func TestMissingKey(t *testing.T) {
	for text, want := range map[string]bool{
		"provider = \"openai\"":                          true,
		"provider = \"anthropic\"":                       true,
		"provider = \"openai\"\napi_key_env = \"K\"":     false,
		"provider = \"openai\"\nbase_url = \"http://x\"": false,
		"provider = \"scripted\"":                        false,
		"provider = \"bedrock\"":                         false,
		"provider = \"azure\"\nbase_url = \"http://x\"":  true,
	} {
		m, _ := parse("[connections.c]\n" + text + "\n")
		if got := m.Connection("c").LacksKey(); got != want {
			t.Errorf("%s: LacksKey = %t, want %t", text, got, want)
		}
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ toml, want string }{
		{`a = "x\n\"<é>"`, `{"a":"x\n\"<é>"}`},
		{`a = 9223372036854775807`, `{"a":9223372036854775807}`},
		{`a = -0x0`, ``},
		{`a = 0xff`, `{"a":255}`},
		{`a = 1_000`, `{"a":1000}`},
		{`a = 0.7`, `{"a":0.7}`},
		{`a = 2.0`, `{"a":2.0}`},
		{`a = 1e21`, `{"a":1e+21}`},
		{`a = -0.0`, `{"a":-0.0}`},
		{`a = true`, `{"a":true}`},
		{`a = [1, [2.5, "x"], {}]`, `{"a":[1,[2.5,"x"],{}]}`},
		{`a = []`, `{"a":[]}`},
		{"z = 1\na = 2\nm.y = 1\nm.b = 2", `{"z":1,"a":2,"m":{"y":1,"b":2}}`},
		{`a = { z = 1, b = { d = 1, c = 2 } }`, `{"a":{"z":1,"b":{"d":1,"c":2}}}`},
		{`a = 1979-05-27T07:32:00Z`, `{"a":"1979-05-27T07:32:00Z"}`},
		{`a = 1979-05-27 00:32:00.999-07:00`, `{"a":"1979-05-27T00:32:00.999-07:00"}`},
		{`a = 1979-05-27 07:32:00`, `{"a":"1979-05-27T07:32:00"}`},
		{`a = 1979-05-27`, `{"a":"1979-05-27"}`},
		{`a = 07:32:00.5`, `{"a":"07:32:00.5"}`},
		{"\"quoted \\u00e9\" = 1\n'lit.eral' = 2", `{"quoted é":1,"lit.eral":2}`},
		{"a = \"\"\"\nx\"\"\"\"\"\nb = '''y'''", `{"a":"x\"\"","b":"y"}`},
		{"[[hosts.w.params.list]]\nn = 1\n[[hosts.w.params.list]]\nn = 2\n[hosts.w.params.sub]\nk = 1", `{"list":[{"n":1},{"n":2}],"sub":{"k":1}}`},
		{"a = [ # one\n 1, # two\n 2,\n]", `{"a":[1,2]}`},
		{``, ``},
	} {
		m, l := parse("[hosts.w]\ncommand = \"c\"\n[hosts.w.params]\n" + c.toml + "\n")
		if c.toml == `a = -0x0` {
			if !l.HasErrors() {
				t.Errorf("%s: no error, want one", c.toml)
			}
			continue
		}
		if l.Len() != 0 {
			t.Errorf("%s: unexpected diagnostics:\n%s", c.toml, lines(l))
			continue
		}
		if got := string(m.Hosts[0].Params); got != c.want {
			t.Errorf("%s: params = %s, want %s", c.toml, got, c.want)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	for _, c := range []struct{ name, toml, want string }{
		{"bare text", "[hosts.w]\ncommand = python3\n", "2:11: E0801: invalid value `python3` (put text in quotes: \"python3\")\n"},
		{"key twice", "a = 1\na = 2\n", "2:1: E0801: duplicate key `a` (keep one of them)\n"},
		{"table by dotted keys and by header", "[hosts.w]\ncommand = \"c\"\npermissions.deny = [\"Bash(rm)\"]\n[hosts.w.permissions]\nallow = [\"Bash(rm)\"]\n", "4:2: E0801: duplicate key `hosts.w.permissions` (keep one of them)\n"},
		{"inline table and header", "[hosts.w]\npermissions = { deny = [\"Bash(rm)\"] }\n[hosts.w.permissions]\nallow = [\"Bash(rm)\"]\n", "3:2: E0801: duplicate key `hosts.w.permissions` (keep one of them)\n"},
		{"dotted key twice", "hosts.w.command = \"a\"\nhosts = 2\n", "2:1: E0801: duplicate key `hosts` (keep one of them)\n"},
		{"open string", "[project]\nname = \"x\n", "2:10: E0801: unterminated string (close it with a quote, or use \"\"\" for several lines)\n"},
		{"not utf-8", "a = \"\xff\"\n", "1:6: E0801: invalid UTF-8: byte 0xff (save the file as UTF-8)\n"},
		{"byte order mark inside", "\ufeff[limits]\n\ufeffmax_tokens = 3\n", "2:1: E0801: byte order mark in the middle of the file (remove this invisible character; in a string it is written as \\ufeff)\n"},
		{"open header", "[project\nname = 1\n", "1:9: E0801: expected `]` after the name of the table, found '\\n' (write the header as [name])\n"},
		{"vendors", "[hosts.a]\ntransport = \"claude-code\"\nmode = \"acceptEdits\"\nsettings = [\"user\"]\n[hosts.b]\ntransport = \"codex\"\nsandbox = \"read-only\"\n" +
			"[hosts.c]\ntransport = \"acp\"\ncommand = \"gemini\"\nmode = \"yolo\"\nunsafe_mode = true\n", ""},
		{"acp without a command", "[hosts.a]\ntransport = \"acp\"\n", "1:8: E0804: [hosts.a] has no `command` (add `command = \"…\"`, the program to start for this host)\n"},
		{"key of another transport", "[hosts.a]\ncommand = \"c\"\nmodel = \"m\"\n", "3:1: E0806: [hosts.a] has transport `stdio`, which does not support `model` (remove it: only these transports support it: claude-code, codex, acp)\n"},
		{"key of another provider", "[connections.a]\nprovider = \"gemini\"\nservice_tier = \"flex\"\napi = \"chat\"\n[connections.b]\nprovider = \"ollama\"\nservice_tier = \"flex\"\n",
			"4:1: E0806: [connections.a] has provider `gemini`, which does not support `api` (remove it: only these providers support it: openai, azure)\n" +
				"7:1: E0806: [connections.b] has provider `ollama`, which does not support `service_tier` (remove it: only these providers support it: openai, anthropic, gemini, azure, vertex, bedrock)\n"},
		{"dated Responses API", "[connections.a]\nprovider = \"azure\"\napi = \"responses\"\napi_version = \"2024-10-21\"\n[connections.b]\nprovider = \"azure\"\napi_version = \"2024-10-21\"\nextra = { n = 2 }\n",
			"4:1: E0806: [connections.a] has the Responses API, which has no version with a date (remove `api_version`)\n"},
		{"members of chat completions", "[connections.a]\nprovider = \"openai\"\nextra = { verbosity = \"low\", n = 2, user = \"u\" }\n[connections.b]\nprovider = \"openai\"\nbase_url = \"https://gateway.example\"\nextra = { n = 2 }\n",
			"3:11: E0803: `verbosity` is a member of chat completions, which the Responses API lacks (write `text.verbosity`, or write `api = \"chat\"`)\n" +
				"3:30: E0803: `n` is a member of chat completions, which the Responses API lacks (remove it, or write `api = \"chat\"`)\n"},
		{"another API", "[connections.a]\nprovider = \"openai\"\napi = \"completions\"\n", "3:7: E0803: unknown api \"completions\" (`api` must be \"auto\", \"responses\" or \"chat\")\n"},
		{"modes", "[hosts.a]\ntransport = \"claude-code\"\nmode = \"bypassPermissions\"\n[hosts.b]\ntransport = \"claude-code\"\nmode = \"fast\"\nsettings = [\"mine\"]\n",
			"3:8: E0803: mode `bypassPermissions` lets the agent act without approval (add `unsafe_mode = true` if this is intended)\n" +
				"6:8: E0803: unknown mode \"fast\" (the modes are default, acceptEdits, plan)\n" +
				"7:12: E0803: unknown settings \"mine\" (the settings are user, project, local)\n"},
		{"what a host may do", "[hosts.a]\ncommand = \"c\"\n[hosts.a.permissions]\nread = [\"~bob\"]\nwrite = [\"\"]\ndeny = [\"a[\", \"../x\"]\ncommands = { allow = [\" \"], dney = [] }\ndefault = \"no\"\n",
			"4:9: E0803: \"~bob\" in `hosts.a.permissions.read`: `~bob` is not a home directory: only `~` is supported (write `read = [\".\"]`)\n" +
				"5:10: E0803: \"\" in `hosts.a.permissions.write`: it names nothing: `.` is the manifest's directory (write `write = [\"src\"]`)\n" +
				"6:9: E0803: \"a[\" in `hosts.a.permissions.deny`: `a[` is no glob (write `deny = [\".env\", \"secrets/**\"]`)\n" +
				"6:15: E0803: \"../x\" in `hosts.a.permissions.deny`: `..` in a glob matches nothing (write `deny = [\".env\", \"secrets/**\"]`)\n" +
				"7:23: E0803: \" \" in `hosts.a.permissions.commands.allow`: it names nothing (write `allow = [\"go test *\"]`)\n" +
				"7:29: E0801: unknown key `dney` in [hosts.a.permissions.commands] (did you mean `deny`?)\n" +
				"8:11: E0803: unknown default \"no\" (`default` must be \"ask\", \"allow\" or \"deny\")\n"},
		{"unknown top level", "[host.w]\ncommand = \"x\"\n", "1:2: E0801: unknown key `host` in the manifest (did you mean `hosts`?)\n"},
		{"unknown key", "[project]\nnmae = \"x\"\n", "2:1: E0801: unknown key `nmae` in [project] (did you mean `name`?)\n"},
		{"unknown key far off", "[project]\nzzzzzz = \"x\"\n", "2:1: E0801: unknown key `zzzzzz` in [project] (the keys of this section are name, version, entry, lib, concerto)\n"},
		{"unknown nested", "[connections.c]\nprovider = \"openai\"\nretry = { max_atempts = 2 }\n", "3:11: E0801: unknown key `max_atempts` in [connections.c.retry] (did you mean `max_attempts`?)\n"},
		{"a key written down", "[connections.c]\nprovider = \"openai\"\napi_key = \"sk\"\n", "3:1: E0801: unknown key `api_key` in [connections.c] (set the name of the environment variable with the key: `api_key_env = \"…\"`)\n"},
		{"a login of a server that is started", "[mcp.S]\ncommand = \"c\"\n[mcp.S.oauth]\nscopes = [\"a b\", \"c\"]\nredirect_port = 70000\n",
			"3:8: E0803: [mcp.S] has a login, but it is no server with a `url` (remove `oauth`: a server that Concerto starts gets its secrets with `pass_env`)\n" +
				"4:11: E0803: \"a b\" in `mcp.S.oauth.scopes`: a scope consists of printable ASCII characters, without spaces, quotes and backslashes (write `scopes = [\"docs.read\"]`)\n" +
				"5:17: E0803: `mcp.S.oauth.redirect_port` is 70000, which is more than 65535 (write `redirect_port = 8912`)\n"},
		{"a login beside a header", "[mcp.S]\nurl = \"http://h\"\nheaders_env = { authorization = \"A\" }\noauth = { grant = \"client_credentials\", client_id = \"i\" }\n",
			"4:1: E0804: [mcp.S.oauth] has the grant client_credentials, but no `client_secret_env` (add `client_secret_env = \"DOCS_CLIENT_SECRET\"`)\n" +
				"4:1: E0806: [mcp.S] has both a login and the header `Authorization` (keep one of them)\n"},
		{"a login without its client", "[mcp.S]\nurl = \"http://h\"\n[mcp.S.oauth]\nclient_secret_env = \"S\"\ngrant = \"device\"\n",
			"3:8: E0804: [mcp.S.oauth] has `client_secret_env`, but no `client_id` (add `client_id = \"concerto-docs\"`)\n" +
				"5:9: E0803: unknown grant \"device\" (`grant` must be \"authorization_code\" or \"client_credentials\")\n"},
		{"section is no table", "hosts = 3\n", "1:9: E0802: `hosts` must be a table, not an integer\n"},
		{"a connection without a name", "[connections]\nname = \"main\"\nprovider = \"scripted\"\nreplies = [{ text = \"ok\" }]\n",
			"3:1: E0802: `provider` must be in a section with a name, not in [connections] (write `[connections.main]` instead of `[connections]`)\n"},
		{"a host without a name, beside one", "[hosts]\ncommand = \"x\"\n[hosts.w]\ncommand = \"x\"\n",
			"2:1: E0802: `command` must be in a section with a name, not in [hosts] (write `[hosts.NAME]` instead of `[hosts]`)\n"},
		{"host is no table", "[hosts]\nw = \"x\"\n", "2:5: E0802: `hosts.w` must be a table, not a string\n"},
		{"wrong types", "[hosts.w]\ncommand = 1\nargs = \"x\"\ntimeout = true\ninstances = 1.5\nenv = []\nparams = 3\n",
			"2:11: E0802: `hosts.w.command` must be a string, not an integer (write `command = \"1\"`)\n" +
				"3:8: E0802: `hosts.w.args` must be an array of strings, not a string (write `args = [\"hosts/worker.py\"]`)\n" +
				"4:11: E0802: `hosts.w.timeout` must be a number (seconds), not a boolean (write `timeout = 120`)\n" +
				"5:13: E0802: `hosts.w.instances` must be an integer, not a float (write `instances = 2`)\n" +
				"6:7: E0802: `hosts.w.env` must be a table of strings, not an array (write `env = { MODE = \"fast\" }`)\n" +
				"7:10: E0802: `hosts.w.params` must be a table, not an integer (write `params = { model = \"opus\" }`)\n"},
		{"wrong elements", "[hosts.w]\ncommand = \"c\"\nargs = [\"a\", 2]\nenv = { A = 1979-05-27 07:32:00, B = \"b\" }\n",
			"3:14: E0802: `hosts.w.args` must be strings, not an integer (put the element in quotes)\n" +
				"4:13: E0802: `hosts.w.env.A` must be a string, not a date or time (put the value in quotes)\n"},
		{"unknown provider", "[connections.c]\nprovider = \"antropic\"\n", "2:12: E0803: unknown provider \"antropic\" (did you mean \"anthropic\"?)\n"},
		{"unknown provider far off", "[connections.c]\nprovider = \"x\"\n", "2:12: E0803: unknown provider \"x\" (`provider` must be \"openai\", \"anthropic\", \"gemini\", \"ollama\", \"azure\", \"vertex\", \"bedrock\" or \"scripted\")\n"},
		{"bad transport", "[hosts.w]\ntransport = \"carrier pigeon\"\ncommand = \"c\"\n", "2:13: E0803: unknown transport \"carrier pigeon\" (`transport` must be \"stdio\", \"claude-code\", \"codex\" or \"acp\")\n"},
		{"no time", "[hosts.w]\ncommand = \"c\"\ntimeout = 0\nquestion_timeout = nan\ninstances = 0\n",
			"3:11: E0803: `hosts.w.timeout` must be more than 0 and at most 1000000000 (write `timeout = 120`, or remove the key)\n" +
				"4:20: E0803: `hosts.w.question_timeout` must be more than 0 and at most 1000000000 (write `question_timeout = 30`, or remove the key)\n" +
				"5:13: E0803: `hosts.w.instances` is 0, which is less than 1 (write `instances = 2`)\n"},
		{"address without scheme", "[connections.c]\nprovider = \"openai\"\nbase_url = \"localhost:8080\"\n", "3:12: E0803: `connections.c.base_url` is not an http or https URL (write `base_url = \"https://api.openai.com/v1\"`)\n"},
		{"empty command", "[hosts.w]\ncommand = \"\"\n", "2:11: E0803: `hosts.w.command` is empty (write `command = \"python3\"`)\n"},
		{"missing keys", "[hosts.w]\n[connections.c]\n[mcp.m]\n",
			"1:8: E0804: [hosts.w] has no `command` (add `command = \"…\"`, the program to start for this host)\n" +
				"2:14: E0804: [connections.c] has no `provider` (add `provider = \"openai\"` or another of \"openai\", \"anthropic\", \"gemini\", \"ollama\", \"azure\", \"vertex\", \"bedrock\" or \"scripted\")\n" +
				"3:6: E0804: [mcp.m] has no `command` (add `command = \"…\"` to start a server, or `url = \"…\"` to use a running one)\n"},
		{"params that JSON lacks", "[hosts.w]\ncommand = \"c\"\n[hosts.w.params]\na = inf\nb = [1.0, nan]\n",
			"4:5: E0805: inf cannot be sent as JSON (write a finite number, or text in quotes)\n" +
				"5:11: E0805: nan cannot be sent as JSON (write a finite number, or text in quotes)\n"},
		{"fallbacks", "[connections.a]\nprovider = \"openai\"\nfallback = [\"a\"]\n[connections.ab]\nprovider = \"openai\"\nfallback = [\"abc\"]\n[connections.c]\nprovider = \"openai\"\nfallback = [\"zzzzz\"]\n",
			"3:12: E0803: [connections.a] is its own fallback (use another connection, or remove it)\n" +
				"6:12: E0803: unknown connection `abc` in Concerto.toml (did you mean `ab`?)\n" +
				"9:12: E0803: unknown connection `zzzzz` in Concerto.toml (add [connections.zzzzz] with a provider)\n"},
		{"prices", "[connections.a]\nprovider = \"openai\"\nprices = { m = { input = 0 }, n = 3, o = { input = -1, output = 1, outptu = 2 } }\n[connections.b]\nprovider = \"openai\"\nprices = 1\n",
			"3:12: E0804: the price of `m` has no `output` (add `output = 10.0`: US dollars for a million tokens)\n" +
				"3:35: E0802: `connections.a.prices.n` must be a table, not an integer\n" +
				"3:52: E0803: `connections.a.prices.o.input` must be at least 0 and at most 1000000000 (write `input = 2.5`, or remove the key)\n" +
				"3:68: E0801: unknown key `outptu` in [connections.a.prices.o] (did you mean `output`?)\n" +
				"6:10: E0802: `connections.b.prices` must be a table of models, not an integer (write `prices = { \"gpt-4o\" = { input = 2.5, output = 10.0 } }`)\n"},
		{"parameter twice", "[hosts.w]\ncommand = \"c\"\nparams = { t = 1 }\nparams_env.t = \"T\"\n", "4:12: E0806: parameter `t` of [hosts.w] is in both `params` and `params_env` (keep one of them)\n"},
		{"code allowed and denied", "[lints]\nallow = [\"W0220\", \"W0409\"]\ndeny = [\"W0409\"]\n", "3:1: E0806: [lints] has W0409 in both `allow` and `deny` (remove it from one of them)\n"},
		{"script and replies", "[connections.c]\nprovider = \"scripted\"\nscript = \"x.json\"\nreplies = []\n", "3:1: E0806: [connections.c] has both `script` and `replies` (keep one of them)\n"},
		{"reply's expression", "[connections.c]\nprovider = \"scripted\"\nreplies = [{ match = \"(\", text = \"x\" }]\n", "3:22: E0803: `match` is not a valid regular expression: error parsing regexp: missing closing ): `(` (escape special characters, such as 'a\\.b')\n"},
		{"reply's keys", "[connections.c]\nprovider = \"scripted\"\n[[connections.c.replies]]\ntxt = \"x\"\nerror = { status = 200 }\ntool_calls = [{ args = {} }]\n",
			"4:1: E0801: unknown key `txt` in [connections.c.replies] (did you mean `text`?)\n" +
				"5:20: E0803: `connections.c.replies.error.status` is 200, which is less than 400 (write `status = 429`)\n" +
				"6:15: E0804: this element of `connections.c.replies.tool_calls` has no `name` (add `name = \"add\"`)\n"},
		{"replies are no tables", "[connections.c]\nprovider = \"scripted\"\nreplies = [\"x\"]\n", "3:12: E0802: `connections.c.replies` must be a table, not a string\n"},
		{"behind a byte order mark", "\xef\xbb\xbf[project]\nname = 1\n", "2:8: E0802: `project.name` must be a string, not an integer (write `name = \"1\"`)\n"},
		{"dependency of a branch", "[dependencies]\nx = { git = \"https://h/x\", branch = \"main\" }\n", "2:28: E0803: a branch is not a version; use a commit (write `commit = \"…\"` with the id of a commit, or `tag` with a version)\n"},
		{"dependency's tag", "[dependencies]\nx = { git = \"https://h/x\", tag = \"1.0\" }\n", "2:34: E0803: tag must be vN.N.N, not \"1.0\" (write the tag of a version, such as `tag = \"v1.2.0\"`; a branch is not a version; use a commit)\n"},
		{"dependency's tag without its directory", "[dependencies]\nx = { git = \"https://h/x\", dir = \"a\", tag = \"v1.0.0\" }\n", "2:45: E0803: tag must be a/vN.N.N, not \"v1.0.0\" (the tags of a package in a directory begin with the directory: `tag = \"a/v1.0.0\"`)\n"},
		{"dependency's short commit", "[dependencies]\nx = { git = \"https://h/x\", commit = \"abc\" }\n", "2:37: E0803: `commit` of dependency `x` must be 40 or 64 hexadecimal digits (a branch is not a version; use a commit: `git rev-parse HEAD` prints one)\n"},
		{"dependency's address", "[dependencies]\nx = { git = \"ext::sh -c x\", tag = \"v1.0.0\" }\n", "2:13: E0803: \"ext::sh -c x\" is not a repository address: it contains a space, a backslash or a control character (an address begins with https:// or ssh://, or is USER@HOST:PATH; http:// and file:// are only for repositories on this machine)\n"},
		{"dependency's password", "[dependencies]\nx = { git = \"https://u:hunter2@h/x\", tag = \"v1.0.0\" }\n", "2:13: E0807: the address of dependency `x` contains a secret (store the password with git's credential helper, and remove it from the address)\n"},
		{"dependency's directory", "[dependencies]\nx = { git = \"https://h/x\", dir = \"../a\", tag = \"v1.0.0\" }\n", "2:34: E0803: `dir` of dependency `x` is not valid: it must not leave the repository (write the path of the package's directory in its repository, such as `dir = \"plan\"`)\n"},
		{"dependency's absolute path", "[dependencies]\nx = { path = \"/srv/x\" }\n", "2:14: E0803: `path` of dependency `x` must be relative to the manifest, with `/` (write, for example, `path = \"../mine\"`)\n"},
		{"dependency with tag and commit", "[dependencies]\nx = { git = \"https://h/x\", tag = \"v1.0.0\", commit = \"3f786850e387550fdab836ed7e6dc881de23001b\" }\n", "2:44: E0806: dependency `x` has both `commit` and `tag` (keep one of them)\n"},
		{"dependency without a version", "[dependencies]\nx = { git = \"https://h/x\" }\n", "2:1: E0804: dependency `x` has neither `tag` nor `commit` (add `tag = \"v1.2.0\"`, or run `concerto add https://h/x`, which finds the highest release)\n"},
		{"dependency without a source", "[dependencies]\nx = {}\n", "2:1: E0804: dependency `x` has neither `git` nor `path` (write `x = { git = \"https://example.com/ada/text\", tag = \"v1.2.0\" }`, or `{ path = \"../mine\" }`)\n"},
		{"dependency with a tag alone", "[dependencies]\nx = { path = \"../x\", tag = \"v1.0.0\" }\n", "2:22: E0806: dependency `x` has `tag` without `git` (add `git`, or remove `tag`)\n"},
		{"two dependencies for one package", "[dependencies]\nx = { git = \"https://h/x\", tag = \"v1.0.0\" }\ny = { git = \"https://H/x.git\", tag = \"v1.2.0\" }\n", "3:1: E0806: `x` and `y` are the same package (remove one of them)\n"},
		{"two majors of one package", "[dependencies]\nx = { git = \"https://h/x\", tag = \"v1.0.0\" }\ny = { git = \"https://h/x\", tag = \"v2.0.0\" }\n", ""},
		{"columns count characters", "[project]\nname = \"é\"\n[hosts.\"é\"]\nenv = { A = 1 }\ncommand = \"c\"\n", "4:13: E0802: `hosts.é.env.A` must be a string, not an integer (put the value in quotes)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, l := parse(c.toml)
			if d := cmp.Diff(c.want, lines(l)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseScript(t *testing.T) {
	for _, c := range []struct{ name, text, want, diags string }{
		{"r.json", `[{"text": "a", "json": {"n": 1.0, "big": 12345678901234567890}}]`, `[{"text":"a","json":{"n":1.0,"big":12345678901234567890}}]`, ""},
		{"r.json", `{"replies": [{"json": null}]}`, `[{"json":null}]`, ""},
		{"r.toml", "[[replies]]\ntext = \"a\"\n", `[{"text":"a"}]`, ""},
		{"r.json", "[{\"text\": \"a\",\n  \"mach\": \"x\"}]", "", "2:3: E0801: unknown key `mach` in [replies] (did you mean `match`?)\n"},
		{"r.json", "[{\"text\":\n 5}]", "", "2:2: E0802: `replies.text` must be a string, not an integer (write `text = \"5\"`)\n"},
		{"r.json", "[{\"text\" 5}]", "", "1:10: E0801: the script is not JSON: invalid character '5' after object key (write a JSON array of replies: [{\"text\": \"yes\"}])\n"},
		{"r.json", "[", "", "1:2: E0801: the script is not JSON: unexpected end of file (write a JSON array of replies: [{\"text\": \"yes\"}])\n"},
		{"r.json", "[] x", "", "1:4: E0801: the script is not JSON: unexpected text after the value (write a JSON array of replies: [{\"text\": \"yes\"}])\n"},
		{"r.json", "[{\"a\":1,\"a\":2}]", "", "1:14: E0801: the script is not JSON: duplicate key \"a\" in an object (write a JSON array of replies: [{\"text\": \"yes\"}])\n"},
		{"r.json", "{}", "", "1:1: E0804: the script has no `replies` (write one `[[replies]]` table for each reply)\n"},
		{"r.json", "3", "", "1:1: E0802: `replies` must be an array of tables, not an integer\n"},
		{"r.toml", "x", "", "1:1: E0801: expected `key = value` (write `key = value`, or [name] to open a table)\n"},
	} {
		got, l := ParseScript(source.NewFile(c.name, []byte(c.text)))
		if string(got) != c.want || lines(l) != c.diags {
			t.Errorf("%s: replies = %s, diagnostics\n%swant %s\n%s", c.text, got, lines(l), c.want, c.diags)
		}
	}
}

func TestLocate(t *testing.T) {
	there := filepath.FromSlash("/a/b/Concerto.toml")
	exists := func(p string) bool { return p == there }
	for start, want := range map[string]string{"/a/b/c/d": there, "/a/b": there, "/a": "", "/": ""} {
		got, ok := Locate(filepath.FromSlash(start), exists)
		if got != want || ok != (want != "") {
			t.Errorf("Locate(%s) = %q, %t; want %q", start, got, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, i := range diag.Catalogue() {
		if !i.Manifest {
			continue
		}
		for _, p := range i.Pairs() {
			f.Add(p.Bad)
			f.Add(p.Good)
		}
	}
	f.Add("a.b=1\na=2\n[[x]]\n[[x.y]]\n[x.z]\n\"k\\u00e9\"='''v'''\n")
	f.Add("[hosts.w.params]\nd = 1979-05-27 07:32:00 # c\na = [[1,],{b=2}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, l := parse(text)
		for _, d := range l.Sorted() {
			if d.Message == "" || int(d.Span.End) > len(text) || d.Span.Start > d.Span.End {
				t.Errorf("diagnostic %q has span %v in a text of %d bytes", d.Message, d.Span, len(text))
			}
		}
		ParseScript(source.NewFile("s.json", []byte(text)))
		ParseScript(source.NewFile("s.toml", []byte(text)))
		samePlaces(t, text)
	})
}

// samePlaces compares the scanner with the TOML decoder: the tree of the scanner must have a node
// for each value of the decoder, under the same name.
func samePlaces(t *testing.T, text string) {
	r := &reader{file: source.NewFile("t.toml", []byte(text)), kinds: &manifestKinds}
	root, values, ok := r.toml()
	if !ok {
		return
	}
	out, ok := r.encode(root, values)
	if !ok {
		return // JSON has no infinity and no NaN
	}
	var got any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%q: the encoded JSON %s is invalid: %v", text, out, err)
	}
	if d := cmp.Diff(plain(values), got); d != "" {
		t.Errorf("%q: encoded values differ from the decoder's (-decoder +encoded):\n%s", text, d)
	}
}

// plain converts a value of the TOML decoder to the form in which encoding/json decodes it.
func plain(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case time.Time:
		return dateText(v)
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plain(x)
		}
		return out
	case []any, []map[string]any:
		elements, _ := tables(v)
		out := []any{}
		for _, x := range elements {
			out = append(out, plain(x))
		}
		return out
	}
	return v
}
