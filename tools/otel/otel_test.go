package otel

import (
	stdbase64 "encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/otlp"
	"github.com/concerto-lang/concerto/internal/testkit/memory"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

func base64(b []byte) string { return stdbase64.StdEncoding.EncodeToString(b) }

// export runs a program with an export to the collector.
func export(t *testing.T, c *collector, dir string, environ []string, answers ...emit.Fixed) (output string) {
	t.Helper()
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if p == nil || err != nil {
		for _, d := range found.Sorted() {
			t.Log(d.Message)
		}
		t.Fatal(err)
	}
	environ = append(append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL), environ...)
	exported, problems := telemetry.Open(environ, telemetry.Options{Service: "test"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var out strings.Builder
	err = p.Run(t.Context(), engine.Options{WorkDir: dir, Environ: environ, Log: io.Discard, Output: engine.Output{To: &out, Mode: emit.Modes["text"]},
		Answers: engine.Answers{Fixed: answers}, Records: engine.Records{Telemetry: exported}})
	if err != nil {
		t.Logf("the run ended with %v", err)
	}
	for _, p := range exported.Close() {
		t.Errorf("%s", &p)
	}
	return out.String()
}

// TestExamples exports the examples. Everything must be in the registry, and each trace must have
// one root and no orphans.
func TestExamples(t *testing.T) {
	for _, name := range []string{"extract", "review", "pipeline", "supervise", "coder", "advisor", "hello", "tools"} {
		for _, protocol := range []string{"http/protobuf", "http/json"} {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				c := newCollector(t)
				export(t, c, filepath.Join("../../examples", name), []string{"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT"})
				if len(c.spans) == 0 || len(c.metrics) == 0 {
					t.Errorf("received %d spans and %d metrics", len(c.spans), len(c.metrics))
				}
				for _, v := range append(c.violations(), c.orphans()...) {
					t.Error(v)
				}
			})
		}
	}
}

// write writes a project.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const everything = `use std::http;
use std::log;
use std::tools::RunCommand;

tool Bank {
    description: "The bank",
    paid: Int = 0,

    @approve
    @describe("Pays")
    pub fn pay(mut self, @param("how much") amount: Int) -> Int {
        self.paid += amount;
        self.paid
    }
}

agent Clerk uses main { tools: [Bank], max_tokens: 50, temperature: 0.5 }

async fn fetch(address: String) -> Int { http::get("${address}/page?key=hidden")?.status }

fn main() {
    log::warn("low on paper");
    println("printed");
    let status = fetch("ADDRESS");
    println(Clerk.execute("pay")?.text);
    println(await status);
    RunCommand.run("true", [])?;
    await emit<String>("go", "on?")?;
}
`

const manifest = `[project]
name = "all"
entry = "main.conc"
[connections.main]
provider = "scripted"
default_model = "m"
prices = { m = { input = 1.0, output = 2.0 } }
replies = [{ tool_calls = [{ name = "Bank_pay", args = { amount = 5 } }] }, { text = "done" }]
[permissions]
run = ["true"]
net = ["127.0.0.1"]
`

// everythingIn returns the project of everything, whose HTTP requests go to a server of the test.
func everythingIn(t *testing.T) string {
	t.Helper()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "page") }))
	t.Cleanup(page.Close)
	return write(t, map[string]string{"Concerto.toml": manifest, "main.conc": strings.ReplaceAll(everything, "ADDRESS", page.URL)})
}

// outline returns the spans of a trace as lines, indented by their depth, in the order of names.
func outline(spans []*trace.Span) string {
	var b strings.Builder
	var add func(parent []byte, indent string)
	add = func(parent []byte, indent string) {
		var own []*trace.Span
		for _, s := range spans {
			if string(s.ParentSpanId) == string(parent) {
				own = append(own, s)
			}
		}
		slices.SortFunc(own, func(a, b *trace.Span) int { return strings.Compare(a.Name, b.Name) })
		for _, s := range own {
			failed := ""
			if s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
				failed = " failed"
			}
			fmt.Fprintf(&b, "%s%s%s\n", indent, s.Name, failed)
			add(s.SpanId, indent+"  ")
		}
	}
	add(nil, "")
	return b.String()
}

// TestSpans checks the spans of a program with most kinds of items. A call that was approved is a
// span with its approval; a call that was denied has only the span of the approval.
func TestSpans(t *testing.T) {
	dir := everythingIn(t)
	answers := func(pay string) []emit.Fixed {
		return []emit.Fixed{{Channel: "tool:approval", Value: pay}, {Channel: "go", Value: "yes"}}
	}
	c := newCollector(t)
	export(t, c, dir, nil, answers("yes")...)
	want := `invoke_workflow all
  await_emit go
  invoke_agent Clerk
    chat m
    chat m
    execute_tool Bank_pay
      await_approval Bank.pay
  task fetch
    GET
  true
`
	if diff := cmp.Diff(want, outline(c.spans)); diff != "" {
		t.Errorf("spans differ (-want +got):\n%s", diff)
	}
	for _, v := range append(c.violations(), c.orphans()...) {
		t.Error(v)
	}
	for name, want := range map[string]map[string]string{
		"await_approval Bank.pay": {"concerto.approval.kind": "tool", "concerto.approval.decision": "allow", "concerto.approval.actor.type": "flag", "concerto.approval.scope": "once", "gen_ai.tool.name": "Bank.pay"},
		"await_emit go":           {"concerto.approval.kind": "await", "concerto.approval.decision": "answered"},
		"invoke_agent Clerk":      {"gen_ai.agent.name": "Clerk", "gen_ai.provider.name": "scripted", "code.function.name": "main", "code.file.path": "main.conc"},
		"GET":                     {"http.request.method": "GET", "server.address": "127.0.0.1"},
	} {
		i := slices.IndexFunc(c.spans, func(s *trace.Span) bool { return s.Name == name })
		if i < 0 {
			t.Errorf("no span %s", name)
			continue
		}
		has := attributes(c.spans[i].Attributes)
		for key, value := range want {
			if got := has[key].GetStringValue(); got != value {
				t.Errorf("%s: %s is %q, want %q", name, key, got, value)
			}
		}
		if name == "GET" && !strings.HasSuffix(has["url.full"].GetStringValue(), "/page?key=REDACTED") {
			t.Errorf("url %s", has["url.full"].GetStringValue())
		}
	}
	if len(c.logs) != 1 || c.logs[0].Body.GetStringValue() != "low on paper" || c.logs[0].SeverityText != "WARN" || len(c.logs[0].SpanId) == 0 {
		t.Errorf("log records %v", c.logs)
	}

	c = newCollector(t)
	export(t, c, dir, nil, answers("no")...)
	if got := outline(c.spans); strings.Contains(got, "execute_tool") || !strings.Contains(got, "  invoke_agent Clerk\n    await_approval Bank.pay\n") {
		t.Errorf("spans of a denied call:\n%s", got)
	}
	for _, v := range append(c.violations(), c.orphans()...) {
		t.Error(v)
	}
}

// TestContent checks that texts are exported only if a variable requires it, and where.
func TestContent(t *testing.T) {
	dir := everythingIn(t)
	for variable, want := range map[string]struct{ spans, logs bool }{"": {}, "no": {}, "true": {spans: true}, "SPAN_ONLY": {spans: true}, "EVENT_ONLY": {logs: true}, "SPAN_AND_EVENT": {true, true}} {
		c := newCollector(t)
		export(t, c, dir, []string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=" + variable}, emit.Fixed{Channel: "tool:approval", Value: "yes"}, emit.Fixed{Channel: "go", Value: "yes"})
		var text strings.Builder
		for _, s := range c.spans {
			fmt.Fprint(&text, s)
		}
		records := 0
		for _, l := range c.logs {
			if l.EventName == "gen_ai.client.inference.operation.details" {
				records++
			}
		}
		if strings.Contains(text.String(), "gen_ai.input.messages") != want.spans || strings.Contains(text.String(), `"on?"`) != want.spans || (records == 2) != want.logs {
			t.Errorf("%q: %d log records, spans:\n%s", variable, records, text.String())
		}
		for _, v := range c.violations() {
			t.Error(v)
		}
	}
}

// TestIds checks that ids depend on the run only, that the trace of the environment is continued,
// and that samplers are obeyed.
func TestIds(t *testing.T) {
	dir := write(t, map[string]string{"Concerto.toml": "[project]\nname = \"p\"\nentry = \"main.conc\"\n", "main.conc": "fn main() { println(1); }\n"})
	parent := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	c := newCollector(t)
	export(t, c, dir, []string{"TRACEPARENT=" + parent})
	if s := c.spans[0]; fmt.Sprintf("%x %x", s.TraceId, s.ParentSpanId) != "0af7651916cd43dd8448eb211c80319c b7ad6b7169203331" {
		t.Errorf("trace %x, parent %x", s.TraceId, s.ParentSpanId)
	}
	for variables, want := range map[string]int{
		"OTEL_TRACES_SAMPLER=always_off": 0, "OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=0": 0, "OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=1": 1,
		"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": 0, "OTEL_TRACES_SAMPLER=always_on TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": 1,
		"OTEL_TRACES_EXPORTER=none": 0, "OTEL_TRACES_SAMPLER=parentbased_always_off": 0, "OTEL_TRACES_SAMPLER=parentbased_always_off TRACEPARENT=" + parent: 1,
	} {
		c := newCollector(t)
		export(t, c, dir, strings.Fields(variables))
		if len(c.spans) != want {
			t.Errorf("%s: %d spans, want %d", variables, len(c.spans), want)
		}
	}
}

// TestEncodings checks that both encodings of the same data are equal, with every type of
// attribute.
func TestEncodings(t *testing.T) {
	begin := time.Unix(1_700_000_000, 123)
	s := &otlp.Span{Trace: otlp.TraceID{1}, ID: otlp.SpanID{2}, Parent: otlp.SpanID{3}, State: "a=b", Name: "näme \x00\u2028", Kind: otlp.Client, Begin: begin, End: begin.Add(time.Second), Dropped: 7, Failed: true, Message: "no",
		Attributes: []otlp.Attribute{{Key: "s", Value: "x"}, {Key: "i", Value: int64(-1)}, {Key: "f", Value: 1e300}, {Key: "b", Value: true}, {Key: "l", Value: []string{"a", "b"}}},
		Events:     []otlp.SpanEvent{{Name: "e", At: begin, Attributes: []otlp.Attribute{{Key: "zero", Value: int64(0)}}}}}
	s.Attributes = append(s.Attributes, otlp.Attribute{Key: "j", Value: json.RawMessage(`{"b":[1,2.5,null,{"c":""}],"a":true}`)})
	var got [2]*collector
	for i, protocol := range []string{"http/protobuf", "http/json"} {
		c := newCollector(t)
		config, problems := otlp.ParseConfig([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		meter := otlp.NewMeter()
		e := otlp.NewExporter(config, otlp.Resource{Scope: "concerto", Schema: "s", Attributes: []otlp.Attribute{{Key: "service.name", Value: "x"}}}, meter, otlp.Hooks{})
		e.Span(s)
		e.Log(&otlp.Log{Trace: s.Trace, Span: s.ID, At: begin, Event: "x", Severity: "ERROR", Body: "b", Attributes: s.Attributes})
		meter.Add(&otlp.Instrument{Name: "h", Unit: "s", Bounds: []float64{1, 2}}, 2)
		meter.Add(&otlp.Instrument{Name: "c", Unit: "{x}", Whole: true}, 3)
		if p := e.Close(); p != nil {
			t.Error(p)
		}
		got[i] = c
	}
	if diff := cmp.Diff(got[0].spans, got[1].spans, protocmp.Transform()); diff != "" {
		t.Errorf("spans differ (-protobuf +JSON):\n%s", diff)
	}
	if diff := cmp.Diff(got[0].logs, got[1].logs, protocmp.Transform()); diff != "" {
		t.Errorf("log records differ (-protobuf +JSON):\n%s", diff)
	}
	x := got[0].spans[0]
	if x.Name != s.Name || x.DroppedEventsCount != 7 || x.Status.Message != "no" || x.StartTimeUnixNano != uint64(begin.UnixNano()) || x.TraceState != "a=b" || x.Flags != 1 ||
		attributes(x.Attributes)["i"].GetIntValue() != -1 || attributes(x.Attributes)["j"].GetKvlistValue().GetValues()[1].Value.GetArrayValue().GetValues()[1].GetDoubleValue() != 2.5 {
		t.Errorf("span %v", x)
	}
	for _, c := range got {
		h := c.metrics[1].GetHistogram().DataPoints[0]
		if n := c.metrics[0].GetSum().DataPoints[0].GetAsInt(); n != 3 || h.GetSum() != 2 || h.BucketCounts[1] != 1 || h.BucketCounts[2] != 0 {
			t.Errorf("metrics %v", c.metrics)
		}
	}
}

// TestFailures checks what an exporter does when its collector fails: which requests it repeats,
// and what it reports.
func TestFailures(t *testing.T) {
	reply := func(status int, header, body string) func(http.ResponseWriter, string) bool {
		return func(w http.ResponseWriter, _ string) bool {
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
			return true
		}
	}
	once := func(first func(http.ResponseWriter, string) bool) func(http.ResponseWriter, string) bool {
		n := 0
		return func(w http.ResponseWriter, path string) bool {
			n++
			return n == 1 && first(w, path)
		}
	}
	for name, c := range map[string]struct {
		reply    func(http.ResponseWriter, string) bool
		requests int
		problem  string // "" for none
	}{
		"accepted":      {nil, 1, ""},
		"400":           {reply(400, "", "no"), 1, "status 400; 1 item dropped"},
		"401":           {reply(401, "", ""), 1, "status 401; 1 item dropped"},
		"500":           {reply(500, "", ""), 1, "status 500; 1 item dropped"},
		"redirect":      {reply(302, "Location: /elsewhere", ""), 1, "status 302; 1 item dropped"},
		"503, then 200": {once(reply(503, "Retry-After: 1", "")), 2, ""},
		"429, then 200": {once(reply(429, "", "")), 2, ""},
		"half a reply":  {once(reply(200, "Content-Length: 100", "x")), 2, ""},
		"lost":          {once(func(http.ResponseWriter, string) bool { panic(http.ErrAbortHandler) }), 2, ""},
		"partly":        {reply(200, "", "\x0a\x07\x08\x01\x12\x03bad"), 1, "items were rejected: bad; 1 item dropped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newCollector(t)
			server.reply = c.reply
			config, _ := otlp.ParseConfig([]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + server.URL + "/v1/traces", "OTEL_EXPORTER_OTLP_HEADERS=key=a%20b"})
			e := otlp.NewExporter(config, otlp.Resource{Scope: "concerto"}, otlp.NewMeter(), otlp.Hooks{})
			e.Span(&otlp.Span{ID: otlp.SpanID{1}, Begin: time.Now(), End: time.Now()})
			var problem string
			for _, p := range e.Close() {
				problem = strings.TrimPrefix(p.String(), "telemetry: could not export to "+strings.TrimPrefix(server.URL, "http://")+": ")
			}
			if problem != c.problem || len(server.requests) != c.requests {
				t.Errorf("%d requests, problem %q; want %d, %q", len(server.requests), problem, c.requests, c.problem)
			}
			if got := server.requests[0].Header.Get("Key"); got != "a b" {
				t.Errorf("header %q", got)
			}
		})
	}
	down := newCollector(t)
	down.Close()
	config, _ := otlp.ParseConfig([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + down.URL})
	e := otlp.NewExporter(config, otlp.Resource{}, otlp.NewMeter(), otlp.Hooks{})
	for range 3000 { // more than the queue has room for
		e.Span(&otlp.Span{ID: otlp.SpanID{1}})
	}
	problems := e.Close()
	if len(problems) != 1 || problems[0].Dropped != 3000 || !strings.Contains(problems[0].String(), "connection refused") {
		t.Errorf("problems %v", problems)
	}
}

// TestResumedRun checks that a run whose process ends and that is resumed is one trace, without a
// span that is exported twice, and that its report has the same ids. If the first process has sent
// nothing, the second one exports its spans, too.
func TestResumedRun(t *testing.T) {
	t.Run("sent", func(t *testing.T) { testResumedRun(t, true) })
	t.Run("not sent", func(t *testing.T) { testResumedRun(t, false) })
}

// TestMovedRun checks that a run that continues on another machine, which does not know what was
// exported, exports no span twice.
func TestMovedRun(t *testing.T) {
	c := newCollector(t)
	dir := write(t, map[string]string{"Concerto.toml": repeating, "main.conc": resumable})
	run := new(memory.Store).Run("moved")
	options := func() (engine.Options, func() []otlp.Problem) {
		environ := append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
		exported, problems := telemetry.Open(environ, telemetry.Options{Service: "test"})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return engine.Options{WorkDir: dir, Environ: environ, Output: engine.Output{To: io.Discard},
			Records: engine.Records{Telemetry: exported, Durable: &engine.Durable{Dir: t.TempDir(), Run: run, Park: true}}}, exported.Close
	}
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	o, end := options()
	if err := p.Run(t.Context(), o); !strings.Contains(fmt.Sprint(err), "wait") || len(end()) > 0 {
		t.Fatalf("the run ended with %v", err)
	}
	o, end = options()
	stored, err := engine.OpenSharedRun(run, o.Records.Durable.Dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Answers.Fixed = []emit.Fixed{{Channel: "go", Value: "yes"}}
	if err := stored.Resume(t.Context(), o); err != nil || len(end()) > 0 {
		t.Fatal(err)
	}
	if got := outlineOf(c.spans); got != "await_emit go, chat m, chat m, invoke_agent Clerk, invoke_agent Clerk, invoke_workflow all" {
		t.Errorf("both machines exported %s", got)
	}
}

// repeating is a manifest whose model always replies, and resumable a program that waits between
// two calls of it.
var repeating = strings.Replace(manifest, `{ tool_calls = [{ name = "Bank_pay", args = { amount = 5 } }] }, { text = "done" }`, `{ text = "done", repeat = true }`, 1)

const resumable = `agent Clerk uses main {}

fn main() {
    println(Clerk.execute("first")?.text);
    let answer = await emit<String>("go", "on?")?;
    println(Clerk.execute(answer)?.text);
}
`

func testResumedRun(t *testing.T, sends bool) {
	c := newCollector(t)
	dir := write(t, map[string]string{"Concerto.toml": repeating, "main.conc": resumable})
	environ := append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=3600000", "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	where := filepath.Join(t.TempDir(), "run")
	options := func() (engine.Options, func()) {
		exported, problems := telemetry.Open(environ, telemetry.Options{Service: "test"})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return engine.Options{WorkDir: dir, Environ: environ, Output: engine.Output{To: io.Discard}, Records: engine.Records{Telemetry: exported, Durable: &engine.Durable{Dir: where, Park: true}}}, func() {
			for _, p := range exported.Close() {
				t.Errorf("%s", &p)
			}
		}
	}
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	o, end := options()
	if err := p.Run(t.Context(), o); !strings.Contains(fmt.Sprint(err), "wait") {
		t.Fatalf("the run ended with %v", err)
	}
	if sends {
		end()
		if got := outlineOf(c.spans); got != "chat m, invoke_agent Clerk" {
			t.Errorf("the first process exported %s", got)
		}
	} // else as after a kill
	environ = environ[:len(environ)-1] // the trace is stored with the run
	stored, err := engine.OpenRun(where)
	if err != nil {
		t.Fatal(err)
	}
	o, end = options()
	o.Answers.Fixed = []emit.Fixed{{Channel: "go", Value: "yes"}}
	if err := stored.Resume(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	end()
	if got := outlineOf(c.spans); got != "await_emit go, chat m, chat m, invoke_agent Clerk, invoke_agent Clerk, invoke_workflow all" {
		t.Errorf("both processes exported %s", got)
	}
	ids := map[string]bool{}
	for _, s := range c.spans {
		if ids[string(s.SpanId)] {
			t.Errorf("%s was exported twice", s.Name)
		}
		ids[string(s.SpanId)] = true
		if fmt.Sprintf("%x", s.TraceId) != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s is in the trace %x", s.Name, s.TraceId)
		}
	}
	source, err := timetravel.Run(rundir.At(where), environ)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Of(t.Context(), source, durable.Finished)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Items {
		if id, err := hex.DecodeString(x.Span); err != nil || x.Span != "" && !ids[string(id)] {
			t.Errorf("the span %s of item %d, %s, was not exported", x.Span, x.N, x.Kind)
		}
	}
}

// outlineOf returns the names of spans in order.
func outlineOf(spans []*trace.Span) string {
	var all []string
	for _, s := range spans {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestPropagation checks that everything that a run calls receives the span that calls it: an HTTP
// server in a header, a command and a host in their environment, and a host in its prompt.
func TestPropagation(t *testing.T) {
	var mu sync.Mutex
	var received []string
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		received = append(received, r.URL.Path+" "+r.Header.Get("traceparent")+" "+r.Header.Get("baggage"))
	}))
	t.Cleanup(page.Close)
	dir := write(t, map[string]string{
		"Concerto.toml": "[project]\nname = \"p\"\nentry = \"main.conc\"\n[hosts.echo]\ncommand = \"sh\"\nargs = [\"echo.sh\"]\ninput_format = \"json\"\noutput_format = \"json\"\n[permissions]\nrun = [\"sh\"]\n",
		"main.conc": strings.ReplaceAll(`use std::http;
use std::tools::RunCommand;

host Echo { connector: "echo" }

fn main() {
    http::get("ADDRESS/plain")?;
    http::get("ADDRESS/own", { "Traceparent": "own" })?;
    println(RunCommand.run("sh", ["-c", "echo command $TRACEPARENT"])?);
    println("host ${Echo.execute("work")?}");
}
`, "ADDRESS", page.URL),
		"echo.sh": `while read -r line; do
	trace=${line#*'"trace":{"traceparent":"'}
	printf '{"type":"result","text":"%s %s"}\n' "$TRACEPARENT" "${trace%%\"*}"
done
`,
	})
	for propagators, want := range map[string]string{
		"tracecontext,baggage": "/plain GET k=v\n/own own k=v\n{\"exit_code\":0,\"stdout\":\"command sh\\n\",\"stderr\":\"\"}\nhost invoke_agent Echo invoke_agent Echo\n",
		"none":                 "/plain  \n/own own \n{\"exit_code\":0,\"stdout\":\"command\\n\",\"stderr\":\"\"}\nhost  work\n",
	} {
		c := newCollector(t)
		received = nil
		out := export(t, c, dir, []string{"OTEL_PROPAGATORS=" + propagators, "BAGGAGE=k=v"})
		got := strings.Join(received, "\n") + "\n" + out
		for _, s := range c.spans {
			got = strings.ReplaceAll(got, fmt.Sprintf("00-%x-%x-01", s.TraceId, s.SpanId), s.Name)
		}
		if propagators == "none" {
			got = regexp.MustCompile(`host .*`).ReplaceAllString(got, "host  work")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", propagators, diff)
		}
		if propagators == "none" && strings.Contains(out, "00-") {
			t.Errorf("the trace was passed on: %s", out)
		}
	}
}

// TestHostExports checks which variables a host receives to export its own spans. The key of the
// collector is not among them: the proxy adds it.
func TestHostExports(t *testing.T) {
	c := newCollector(t)
	dir := write(t, map[string]string{
		"Concerto.toml": "[project]\nname = \"p\"\nentry = \"main.conc\"\n[hosts.echo]\ncommand = \"sh\"\nargs = [\"echo.sh\"]\noutput_format = \"json\"\ntelemetry = true\n[hosts.plain]\ncommand = \"sh\"\nargs = [\"echo.sh\"]\noutput_format = \"json\"\n",
		"main.conc":     "host Echo { connector: \"echo\" }\nhost Plain { connector: \"plain\" }\n\nfn main() {\n    println(Echo.execute(\"work\")?);\n    println(Plain.execute(\"work\")?);\n}\n",
		"echo.sh":       `read -r line; printf '{"type":"result","text":"%s|%s|%s|%s"}\n' "$OTEL_EXPORTER_OTLP_ENDPOINT" "$OTEL_TRACES_EXPORTER" "$OTEL_EXPORTER_OTLP_HEADERS" "$OTEL_RESOURCE_ATTRIBUTES"`,
	})
	out := export(t, c, dir, nil)
	if !regexp.MustCompile(`^` + c.URL + `\|otlp\|\|concerto.run.id=r_[a-z0-9]{16},concerto.host=Echo\n\|\|\|\n$`).MatchString(out) {
		t.Errorf("without a key the hosts printed %q", out)
	}
	if out := export(t, c, dir, []string{"OTEL_EXPORTER_OTLP_HEADERS=key=the-secret-key"}); !strings.HasPrefix(out, "http://127.0.0.1:") || strings.Contains(out, c.URL) || strings.Contains(out, "secret") {
		t.Errorf("with a key the hosts printed %q", out)
	}

	exported, _ := telemetry.Open([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=key=the-secret-key"}, telemetry.Options{Service: "test"})
	environ := exported.Begin(telemetry.RunOptions{ID: "r"}).HostEnviron("Coder", "claude-code")
	if !slices.Contains(environ, "CLAUDE_CODE_ENABLE_TELEMETRY=1") || slices.ContainsFunc(environ, func(v string) bool { return strings.Contains(v, "secret") }) {
		t.Errorf("variables %v", environ)
	}
	var base string
	for _, v := range environ {
		if address, ok := strings.CutPrefix(v, "OTEL_EXPORTER_OTLP_ENDPOINT="); ok {
			base = address
		}
	}
	post := func(address string) int {
		r, err := http.Post(address, "application/x-protobuf", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return r.StatusCode
	}
	c.requests = nil
	if status := post(base + "/v1/traces"); status != 200 || len(c.requests) != 1 || c.requests[0].Header.Get("Key") != "the-secret-key" {
		t.Errorf("status %d, requests %v", status, c.requests)
	}
	for _, address := range []string{base + "/v1/other", base[:strings.LastIndex(base, "/")] + "/v1/traces", base[:len(base)-1] + "x/v1/traces"} {
		if status := post(address); status != 404 {
			t.Errorf("%s: status %d", address, status)
		}
	}
	if len(c.requests) != 1 {
		t.Errorf("%d requests reached the collector", len(c.requests))
	}
	exported.Close()
	if _, err := http.Post(base+"/v1/traces", "", nil); err == nil {
		t.Error("the proxy is open after the end")
	}
}

// TestManySpans exports 10,000 spans: none is lost, none is an orphan, and each is in the registry.
func TestManySpans(t *testing.T) {
	c := newCollector(t)
	dir := write(t, map[string]string{
		"Concerto.toml": strings.Replace(manifest, `{ tool_calls = [{ name = "Bank_pay", args = { amount = 5 } }] }, { text = "done" }`, `{ text = "done", repeat = true }`, 1),
		"main.conc":     "agent Clerk uses main {}\n\nfn main() {\n    for i in 0..5000 { Clerk.execute(\"again\")?; }\n}\n",
	})
	export(t, c, dir, []string{"OTEL_BSP_MAX_QUEUE_SIZE=20000"})
	if len(c.spans) != 10_001 {
		t.Errorf("received %d spans", len(c.spans))
	}
	for _, v := range append(c.violations(), c.orphans()...) {
		t.Error(v)
	}
}

// TestSecrets checks that no secret of a run is exported, in any encoding, also if texts are.
func TestSecrets(t *testing.T) {
	const secret = `canary"of/the-key`
	c := newCollector(t)
	dir := write(t, map[string]string{
		"Concerto.toml": strings.Replace(manifest, `{ tool_calls = [{ name = "Bank_pay", args = { amount = 5 } }] }, { text = "done" }`, `{ text = "done", repeat = true }`, 1),
		"main.conc": `use std::crypto;
use std::env;
use std::http;
use std::log;
use std::tools::RunCommand;

agent Clerk uses main { system_prompt: "be kind" }

fn main() {
    let secret = env::get("API_PASSWORD") ?? "";
    log::warn("log ${secret}");
    print("print ${secret}");
    emit("plain", { secret: secret, encoded: crypto::base64_encode(secret) });
    Clerk.execute("prompt ${secret}")?;
    let answer = await emit<String>("go", { secret: secret })?;
    RunCommand.run("true", [secret])?;
    let reply = http::get("http://127.0.0.1:1/${secret}?key=${secret}");
    panic("failed with ${secret} and ${answer}");
}
`,
	})
	if !strings.Contains(manifest, "run =") {
		t.Fatal("the manifest permits no commands")
	}
	out := export(t, c, dir, []string{"API_PASSWORD=" + secret, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT"}, emit.Fixed{Channel: "go", Value: "answer " + secret})
	if !strings.Contains(out, secret) {
		t.Fatalf("the program did not use the secret: %s", out)
	}
	var all strings.Builder
	for _, s := range c.spans {
		fmt.Fprintln(&all, protojson.Format(s))
	}
	for _, l := range c.logs {
		fmt.Fprintln(&all, protojson.Format(l))
	}
	for _, m := range c.metrics {
		fmt.Fprintln(&all, protojson.Format(m))
	}
	for _, form := range []string{"canary", base64([]byte(secret)), "Y2FuYXJ5", "NhbmFye", "jYW5hcnk"} {
		if i := strings.Index(all.String(), form); i >= 0 {
			t.Errorf("exported %q: …%s…", form, all.String()[max(0, i-200):min(all.Len(), i+100)])
		}
	}
	if !strings.Contains(all.String(), "***API_PASSWORD***") || len(c.logs) < 2 {
		t.Errorf("the export has no texts:\n%s", all.String())
	}
}

// TestSlowCollector checks that a run whose collector never replies ends, after the time limit.
func TestSlowCollector(t *testing.T) {
	hold := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(hold) })
	dir := write(t, map[string]string{"Concerto.toml": manifest, "main.conc": "fn main() { println(1); }\n"})
	exported, _ := telemetry.Open([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + slow.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=50", "OTEL_BSP_EXPORT_TIMEOUT=100", "OTEL_METRICS_EXPORTER=none"}, telemetry.Options{Service: "test"})
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	var out strings.Builder
	if err := p.Run(t.Context(), engine.Options{WorkDir: dir, Output: engine.Output{To: &out, Mode: emit.Modes["text"]}, Records: engine.Records{Telemetry: exported}}); err != nil || out.String() != "1\n" {
		t.Errorf("output %q, error %v", out.String(), err)
	}
	problems := exported.Close()
	if len(problems) != 1 || !strings.HasSuffix(problems[0].String(), ": no reply in time; 1 item dropped") {
		t.Errorf("problems %v", problems)
	}
}

// TestRules checks the spans of approvals that the rules of the manifest decide, also of one
// without an id, and that a run continues the trace of its client.
func TestRules(t *testing.T) {
	c := newCollector(t)
	dir := write(t, map[string]string{
		"Concerto.toml": "[project]\nname = \"p\"\nentry = \"main.conc\"\n[hosts.echo]\ncommand = \"sh\"\nargs = [\"echo.sh\"]\noutput_format = \"json\"\n[hosts.echo.permissions]\ncommands = { allow = [\"ls *\"], deny = [\"rm *\"] }\n",
		"main.conc":     "host Echo { connector: \"echo\" }\n\nfn main() { println(Echo.execute(\"work\")?); }\n",
		"echo.sh": `read -r line
printf '{"type":"approval","id":"a1","kind":"execute","args":{"command":"ls x"}}\n'; read -r line
printf '{"type":"approval","id":"a2","kind":"execute","args":{"command":"rm x"}}\n'; read -r line
printf '{"type":"approval","kind":"execute","args":{"command":"rm y"}}\n'; read -r line
printf '{"type":"result","text":"done"}\n'
`,
	})
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	exported, _ := telemetry.Open([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}, telemetry.Options{Service: "test"})
	parent, ok := otlp.ParseContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")
	if !ok {
		t.Fatal("the header is valid")
	}
	if err := p.Run(t.Context(), engine.Options{WorkDir: dir, Environ: os.Environ(), Output: engine.Output{To: io.Discard}, Records: engine.Records{Telemetry: exported, TraceParent: parent}}); err != nil {
		t.Fatal(err)
	}
	exported.Close()
	var got []string
	for _, s := range c.spans {
		if has := attributes(s.Attributes); has["concerto.approval.kind"] != nil {
			got = append(got, fmt.Sprintf("%s %s %s", has["concerto.approval.id"].GetStringValue(), has["concerto.approval.decision"].GetStringValue(), has["concerto.approval.actor.type"].GetStringValue()))
		}
		if fmt.Sprintf("%x", s.TraceId) != "0af7651916cd43dd8448eb211c80319c" || s.Name == "invoke_workflow p" && fmt.Sprintf("%x", s.ParentSpanId) != "b7ad6b7169203331" {
			t.Errorf("%s is in the trace %x with the parent %x", s.Name, s.TraceId, s.ParentSpanId)
		}
	}
	if diff := cmp.Diff([]string{"a1 allow rule", "a2 deny rule", " deny rule"}, got); diff != "" {
		t.Errorf("approvals differ (-want +got):\n%s", diff)
	}
	for _, v := range c.violations() {
		t.Error(v)
	}
}
