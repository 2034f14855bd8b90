package otel

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	common "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
	_ "github.com/concerto-lang/concerto/mcp" // as concerto does
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// TestMain is also the MCP server of TestDetails.
func TestMain(m *testing.M) {
	if os.Getenv("TESTMCP_SERVES") != "" {
		os.Exit(testmcp.Main())
	}
	os.Exit(m.Run())
}

// modelReplies are the bodies with which a model server replies, with details of the usage.
var modelReplies = []string{
	`{"id":"r1","model":"m-2","choices":[{"message":{"content":null,"tool_calls":[{"id":"c1","function":{"name":"Bank_pay","arguments":"{\"amount\":5}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}`,
	`{"id":"r2","model":"m-2","choices":[{"message":{"content":"done"},"finish_reason":"stop"}]}`,
	"data: {\"id\":\"r3\",\"choices\":[{\"delta\":{\"content\":\"piece\"}}]}\n\ndata: {\"id\":\"r3\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"id\":\"r3\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":7}}\n\ndata: [DONE]\n\n",
}

// TestDetails checks what only other processes know: details of a model's usage, why its reply has
// ended, the time to the first piece of a reply, the number of a host's process, and the request to
// an MCP server, which receives the trace, as an agent with the protocol ACP does.
func TestDetails(t *testing.T) {
	next := 0
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(modelReplies[next], "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		fmt.Fprint(w, modelReplies[next])
		next++
	}))
	t.Cleanup(model.Close)
	server := testmcp.Start()
	t.Cleanup(server.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"Concerto.toml": strings.NewReplacer("MODEL", model.URL, "SERVER", server.URL, "SELF", self).Replace(`[project]
name = "p"
entry = "main.conc"
[connections.main]
provider = "openai"
base_url = "MODEL"
api_key_env = "KEY"
default_model = "m"
[hosts.echo]
command = "sh"
args = ["echo.sh"]
output_format = "json"
[hosts.vendor]
transport = "acp"
command = "sh"
args = ["agent.sh"]
[mcp.Local]
command = "SELF"
env = { TESTMCP_TRACED = "1", TESTMCP_SERVES = "1" }
[mcp.Remote]
transport = "http"
url = "SERVER"
[permissions]
run = ["sh", "SELF"]
net = ["127.0.0.1"]
`),
		"main.conc": `mcp Local {
    fn trace() -> Result<String, ToolError>;
    fn fail() -> Result<String, ToolError>;
}
mcp Remote {
    fn echo(text: String, times: Int?) -> Result<String, ToolError>;
}
host Echo { connector: "echo" }
host Vendor { connector: "vendor" }

tool Bank {
    description: "The bank",

    @describe("Pays an amount")
    pub fn pay(mut self, @param("how much") amount: Int) -> Int { amount }
}

agent Clerk uses main { tools: [Bank], reasoning_effort: "low" }
agent Poet uses main {}

fn main() {
    println(Clerk.execute("pay")?.text);
    let line = Poet.stream("write");
    for c in line { println(c.text); }
    println(Echo.execute("work")?);
    println("vendor ${Vendor.execute("work")?}");
    println("trace ${Local.trace()?}");
    println(Local.fail().is_err());
    println(Remote.echo("far")?);
}
`,
		// answers the requests initialize, session/new and session/prompt of ACP
		"agent.sh": `while read -r line; do
	id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case $line in
	*'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
	*'"session/new"'*) result='{"sessionId":"s"}' ;;
	*'"session/prompt"'*)
		trace=$(printf '%s' "$line" | sed 's/.*"_meta":{"traceparent":"\([^"]*\)".*/\1/')
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$trace"
		result='{"stopReason":"end_turn"}' ;;
	*) continue ;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`,
		"echo.sh": `read -r line; echo '{"type":"result","text":"worked"}'
`,
	})
	c := newCollector(t)
	out := export(t, c, dir, []string{"KEY=k"})
	byName := map[string]map[string]*common.AnyValue{}
	for _, s := range c.spans {
		name := s.Name
		if s.Name == "chat m" {
			name += " " + attributes(s.Attributes)["gen_ai.response.id"].GetStringValue()
		}
		byName[name] = attributes(s.Attributes)
		out = strings.ReplaceAll(out, fmt.Sprintf("00-%x-%x-01", s.TraceId, s.SpanId), "of "+s.Name)
	}
	if want := "done\npiece\nworked\nvendor of invoke_agent Vendor\ntrace of tools/call trace\ntrue\nfar\n"; out != want {
		t.Errorf("the run printed %q, want %q", out, want)
	}
	for name, want := range map[string]string{
		"invoke_workflow p":     "gen_ai.agent.name=p gen_ai.operation.name=invoke_workflow",
		"invoke_agent Clerk":    "gen_ai.usage.cache_read.input_tokens=4 gen_ai.usage.reasoning.output_tokens=3",
		"chat m r1":             "gen_ai.request.reasoning.level=low gen_ai.usage.cache_read.input_tokens=4 gen_ai.usage.reasoning.output_tokens=3 gen_ai.response.finish_reasons=tool_calls concerto.usage.estimated=",
		"chat m r2":             "gen_ai.usage.cache_read.input_tokens= gen_ai.response.time_to_first_chunk= concerto.usage.estimated=true",
		"execute_tool Bank_pay": "gen_ai.tool.description=Pays an amount gen_ai.tool.call.id=c1",
		"invoke_agent Echo":     "concerto.host.process=1 concerto.host.transport=stdio",
		"tools/call trace":      "network.transport=pipe mcp.protocol.version=* jsonrpc.request.id=* gen_ai.tool.name=trace",
		"tools/call fail":       "network.transport=pipe error.type=tool_error",
		"tools/call echo":       "network.transport=tcp mcp.protocol.version=* jsonrpc.request.id=*",
		"chat m r3":             "gen_ai.request.reasoning.level= gen_ai.response.time_to_first_chunk=* gen_ai.request.stream=true gen_ai.response.finish_reasons=stop",
	} {
		for pair := range strings.SplitSeq(regexp.MustCompile(` ([a-z_]+[.a-z_]*=)`).ReplaceAllString(want, "\n$1"), "\n") {
			key, value, _ := strings.Cut(pair, "=")
			got := ""
			if v := byName[name][key]; v != nil {
				got = plain(v)
			}
			if value == "*" && got != "" {
				continue
			}
			if got != value {
				t.Errorf("%s: %s is %q, want %q", name, key, got, value)
			}
		}
	}
	metrics, invoked := map[string]bool{}, map[string]bool{}
	for _, m := range c.metrics {
		metrics[m.Name] = true
		if m.Name == "gen_ai.invoke_agent.duration" {
			for _, p := range m.GetHistogram().DataPoints {
				has := attributes(p.Attributes)
				invoked[plain(has["gen_ai.operation.name"])+" "+plain(has["gen_ai.agent.name"])] = true
			}
		}
	}
	want := map[string]bool{"invoke_workflow p": true, "invoke_agent Clerk": true, "invoke_agent Poet": true, "invoke_agent Echo": true, "invoke_agent Vendor": true}
	if diff := cmp.Diff(want, invoked); diff != "" {
		t.Errorf("measured durations differ (-want +got):\n%s", diff)
	}
	for _, name := range []string{"time_to_first_chunk", "usage.cache_read.input_tokens", "usage.reasoning.output_tokens"} {
		if !metrics["gen_ai.client.inference."+name] {
			t.Errorf("no metric %s", name)
		}
	}
	for _, v := range append(c.violations(), c.orphans()...) {
		t.Error(v)
	}
}

// TestRecordedUsage checks that a resumed run exports the requests to models of a process that was
// killed with the tokens that the journal contains, also those of the cache and of reasoning.
func TestRecordedUsage(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"id":"r1","model":"claude-haiku-5-5","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn","usage":{"input_tokens":2,"cache_read_input_tokens":30,"cache_creation_input_tokens":400,"output_tokens":9,"output_tokens_details":{"thinking_tokens":5}}}`)
	}))
	t.Cleanup(model.Close)
	c := newCollector(t)
	dir := write(t, map[string]string{
		"Concerto.toml": "[project]\nname = \"p\"\nentry = \"main.conc\"\n[connections.main]\nprovider = \"anthropic\"\nbase_url = \"" + model.URL + "\"\napi_key_env = \"KEY\"\ndefault_model = \"claude-haiku-5-5\"\n",
		"main.conc":     "agent Clerk uses main { reasoning_effort: \"high\", max_tokens: 99 }\n\nfn main() {\n    Clerk.execute(\"first\")?;\n    await emit<String>(\"go\", \"on?\")?;\n}\n",
	})
	environ := append(os.Environ(), "KEY=k", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=3600000")
	where := filepath.Join(t.TempDir(), "run")
	options := func() engine.Options {
		exported, problems := telemetry.Open(environ, telemetry.Options{Service: "test"})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return engine.Options{WorkDir: dir, Environ: environ, Output: engine.Output{To: io.Discard}, Records: engine.Records{Telemetry: exported, Durable: &engine.Durable{Dir: where, Park: true}}}
	}
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	if err := p.Run(t.Context(), options()); !strings.Contains(fmt.Sprint(err), "wait") {
		t.Fatalf("the run ended with %v", err)
	}
	model.Close() // the reply is only in the journal
	stored, err := engine.OpenRun(where)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Answers.Fixed = []emit.Fixed{{Channel: "go", Value: "yes"}}
	if err := stored.Resume(t.Context(), o); err != nil || len(o.Records.Telemetry.Close()) > 0 {
		t.Fatal(err)
	}
	usage := map[string]string{"input_tokens": "432", "cache_read.input_tokens": "30", "cache_write.input_tokens": "400", "output_tokens": "9", "reasoning.output_tokens": "5"}
	for _, s := range c.spans {
		if s.Name != "chat claude-haiku-5-5" && s.Name != "invoke_agent Clerk" {
			continue
		}
		got := map[string]string{}
		for key, v := range attributes(s.Attributes) {
			if name, ok := strings.CutPrefix(key, "gen_ai.usage."); ok {
				got[name] = plain(v)
			}
		}
		if diff := cmp.Diff(usage, got); diff != "" {
			t.Errorf("%s: usage differs (-want +got):\n%s", s.Name, diff)
		}
	}
	if got := outlineOf(c.spans); got != "await_emit go, chat claude-haiku-5-5, invoke_agent Clerk, invoke_workflow p" {
		t.Errorf("exported %s", got)
	}
	for _, v := range append(c.violations(), c.orphans()...) {
		t.Error(v)
	}
}

// plain returns a value as text.
func plain(v *common.AnyValue) string {
	switch x := v.Value.(type) {
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(x.IntValue, 10)
	case *common.AnyValue_DoubleValue:
		return strconv.FormatFloat(x.DoubleValue, 'g', -1, 64)
	case *common.AnyValue_ArrayValue:
		return plain(x.ArrayValue.Values[0])
	case *common.AnyValue_BoolValue:
		return strconv.FormatBool(x.BoolValue)
	}
	return v.GetStringValue()
}

// TestDispatch checks that a call by dispatch_tool has a span, which its HTTP request or command
// receives, and that an awaited emit without an answer has the actor default.
func TestDispatch(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q", r.Header.Get("traceparent"))
	}))
	t.Cleanup(page.Close)
	dir := write(t, map[string]string{
		"Concerto.toml": strings.ReplaceAll(`[project]
name = "p"
entry = "main.conc"
[tools.fetch]
description = "Fetches"
http = { url = "ADDRESS" }
[tools.say]
description = "Says"
command = { run = ["sh", "-c", 'echo "\"$TRACEPARENT\""'] }
[permissions]
run = ["sh"]
net = ["127.0.0.1"]
`, "ADDRESS", page.URL),
		"main.conc": `fn main() {
    println(dispatch_tool("fetch", {}));
    println(dispatch_tool("say", {}));
    println((await emit<String>("unanswered", 1)).is_err());
}
`,
	})
	c := newCollector(t)
	got := export(t, c, dir, nil)
	for _, s := range c.spans {
		got = strings.ReplaceAll(got, fmt.Sprintf("00-%x-%x-01", s.TraceId, s.SpanId), s.Name)
		if s.Name == "await_emit unanswered" {
			has := attributes(s.Attributes)
			got += has["concerto.approval.actor.type"].GetStringValue() + " " + has["concerto.approval.decision"].GetStringValue() + "\n"
		}
	}
	if diff := cmp.Diff("execute_tool fetch\nexecute_tool say\n[unanswered] 1\ntrue\ndefault error\n", got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("invoke_workflow p\n  await_emit unanswered failed\n  execute_tool fetch\n  execute_tool say\n", outline(c.spans)); diff != "" {
		t.Errorf("spans differ (-want +got):\n%s", diff)
	}
	for _, v := range append(c.violations(), c.orphans()...) {
		t.Error(v)
	}
}
