// The tests of package sdk check that all SDKs behave in the same way.
package sdk_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/engine/hostcheck"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/runtime/host"
)

// patience is the maximum time for every wait. It expires only if there is a bug.
const patience = 2 * time.Minute

// language is a language with an SDK. probe is a host whose behaviour the prompt selects, and
// example is an example of a host.
type language struct {
	name, needs    string
	probe, example func(t *testing.T) host.Config
}

var languages = []language{
	{"go", "go",
		func(t *testing.T) host.Config { return built(t, probe) },
		func(t *testing.T) host.Config { return built(t, example) }},
	{"python", "python3",
		func(t *testing.T) host.Config { return python("testdata/probe.py") },
		func(t *testing.T) host.Config { return python("../examples/hosts/python/hosts/publisher.py") }},
	{"typescript", "node",
		func(t *testing.T) host.Config {
			return host.Config{Command: "node", Args: []string{"testdata/probe.mjs"}}
		},
		func(t *testing.T) host.Config {
			return host.Config{Command: "node", Args: []string{"../examples/hosts/typescript/hosts/publisher.mjs"}}
		}},
}

func python(file string) host.Config {
	return host.Config{Command: "python3", Args: []string{file}, Env: map[string]string{"PYTHONPATH": "python"}}
}

// probe and example build the hosts written in Go, each a module of its own, once.
var (
	probe   = sync.OnceValues(func() (string, error) { return testproc.Module("testdata/probe") })
	example = sync.OnceValues(func() (string, error) { return testproc.Module("../examples/hosts/go/host") })
)

// built returns the configuration of a host that build builds.
func built(t *testing.T, build func() (string, error)) host.Config {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return host.Config{Command: path}
}

func each(t *testing.T, test func(t *testing.T, l language)) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(l.needs); err != nil {
				t.Skipf("%s is not installed", l.needs)
			}
			test(t, l)
		})
	}
}

// TestHostTest checks that the host of each example passes `concerto host test`.
func TestHostTest(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		c := l.example(t)
		c.Name, c.OutputFormat, c.Timeout = "Publisher", "json", patience.Seconds()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		passed := 0
		err := hostcheck.Run(ctx, hostcheck.Options{Config: c, Environ: os.Environ()}, func(v hostcheck.Verdict) {
			if v.Outcome == hostcheck.OK {
				passed++
			} else {
				t.Errorf("failed check: %s%s", v.Text(), v.Why)
			}
		})
		if err != nil || passed != len(hostcheck.Names()) {
			t.Errorf("%d checks passed, error = %v", passed, err)
		}
	})
}

// world contains the probe of one language and runs exchanges with it.
type world struct {
	*testing.T
	ctx   context.Context
	hosts *host.Hosts
	notes map[string]string // last message of each type that needs no response

	mu  sync.Mutex
	log []string
}

func start(t *testing.T, l language, more func(c *host.Config)) *world {
	t.Helper()
	c := l.probe(t)
	c.Name, c.Connector, c.OutputFormat, c.Timeout = "Probe", "probe", "json", patience.Seconds()
	if more != nil {
		more(&c)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w := &world{T: t, notes: map[string]string{}, ctx: ctx}
	note := func(_, line string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, line)
	}
	w.hosts = host.New(host.Options{Configs: []host.Config{c}, Environ: os.Environ(), Stderr: note,
		Log: func(level, line string) {
			if level != "debug" { // expected
				t.Errorf("unexpected log entry: %s: %s", level, line)
			}
		}})
	t.Cleanup(func() { w.end(); cancel() })
	return w
}

func (w *world) end() {
	if err := w.hosts.Close(w.ctx); err != nil {
		w.Error(err)
	}
}

// talk runs an exchange. answer returns the answer to a request, or nil to leave the request open.
// talk returns the last message, and all messages by type.
func (w *world) talk(r effect.ExchangeOpen, answer func(m *effect.HostMessage) *effect.ExchangeReply) (last string, all []string) {
	w.Helper()
	r.Host = "Probe"
	opened, err := w.hosts.Perform(w.ctx, &r)
	if err != nil {
		w.Fatal(err)
	}
	id := opened.(*effect.ExchangeOpened).ID
	defer w.hosts.Perform(w.ctx, &effect.ExchangeClose{ID: id})
	for {
		next, err := w.hosts.Perform(w.ctx, &effect.ExchangeNext{ID: id})
		if err != nil {
			w.Fatal(err)
		}
		for _, m := range next.(*effect.ExchangeMessages).Messages {
			row := hostmsg.Lookup(m.Type)
			all = append(all, m.Type)
			if row.Terminal() {
				return string(m.Text), all
			}
			if !row.Waits() {
				w.notes[m.Type] = string(m.Text)
				continue
			}
			reply := answer(&m)
			if reply == nil {
				continue
			}
			reply.ID, reply.InReplyTo = id, m.Type
			if reply.AnswerTo == "" {
				reply.AnswerTo = m.ID
			}
			if _, err := w.hosts.Perform(w.ctx, reply); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// values returns an answer function that answers every request with the value v.
func values(v string) func(*effect.HostMessage) *effect.ExchangeReply {
	return func(*effect.HostMessage) *effect.ExchangeReply { return &effect.ExchangeReply{Value: []byte(v)} }
}

// want compares two JSON texts.
func (w *world) want(what, got, want string) {
	w.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(got), &a), json.Unmarshal([]byte(want), &b)); err != nil {
		w.Fatalf("%s: the message is not JSON: %v: %s", what, err, got)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		w.Errorf("%s: message (-want +got):\n%s", what, diff)
	}
}

// TestQuestions asks 5,000 questions in sequence and checks that each of them receives its own
// answer.
func TestQuestions(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		w := start(t, l, nil)
		last, all := w.talk(effect.ExchangeOpen{Prompt: "ask 5000"}, func(m *effect.HostMessage) *effect.ExchangeReply {
			var q struct{ Question string }
			if err := json.Unmarshal(m.Text, &q); err != nil {
				t.Fatal(err)
			}
			return &effect.ExchangeReply{Value: value.AppendString(nil, q.Question)}
		})
		w.want("result", last, `{"type":"result","answered":5000}`)
		if len(all) != 5001 {
			t.Errorf("the exchange had %d messages, want 5001", len(all))
		}
	})
}

// TestDecisions checks that an approval is granted only if the answer is an explicit yes.
func TestDecisions(t *testing.T) {
	allowed := func(scope string) string {
		return fmt.Sprintf(`{"allow":true,"reason":"","input":{"a":1},"scope":%q}`, scope)
	}
	denied := func(reason string) string {
		return fmt.Sprintf(`{"allow":false,"reason":%q,"input":null,"scope":"once"}`, reason)
	}
	cases := []struct{ answer, want string }{
		{`true`, allowed("once")}, {`"yes"`, allowed("once")}, {`"y"`, allowed("once")}, {`" Approved!\n"`, allowed("once")},
		{`"OK."`, allowed("once")}, {`"once"`, allowed("once")}, {`"session"`, allowed("session")}, {`"Always"`, allowed("always")},
		{`false`, denied("denied")}, {`"no"`, denied("denied")}, {`""`, denied("denied")}, {`"Rejected."`, denied("denied")}, {`"false"`, denied("denied")},
		{`" yes, but not now "`, denied("yes, but not now")}, {`"yes sir"`, denied("yes sir")},
		{`null`, denied("not a decision: null")}, {`1`, denied("not a decision: 1")}, {`["yes"]`, denied(`not a decision: ["yes"]`)},
		{`{"allow":true}`, denied(`not a decision: {"allow":true}`)}, {`{"decision":"Allow"}`, denied(`not a decision: {"decision":"Allow"}`)},
		{`{"decision":"allow"}`, allowed("once")}, {`{"decision":"allow","scope":"session"}`, allowed("session")},
		{`{"decision":"allow","scope":"for ever"}`, allowed("once")},
		{`{"decision":"allow","input":{"a":2}}`, `{"allow":true,"reason":"","input":{"a":2},"scope":"once"}`},
		{`{"decision":"allow","input":null,"reason":"fine"}`, `{"allow":true,"reason":"fine","input":{"a":1},"scope":"once"}`},
		{`{"decision":"deny"}`, denied("denied")}, {`{"decision":"deny","reason":"é","input":{"a":2}}`, denied("é")},
	}
	each(t, func(t *testing.T, l language) {
		w := start(t, l, nil)
		for _, c := range cases {
			last, _ := w.talk(effect.ExchangeOpen{Prompt: "decide"}, values(c.answer))
			w.want(c.answer, last, strings.Replace(c.want, "{", `{"type":"result",`, 1))
		}
	})
}

// TestMessages checks that an SDK sends and receives every type of message, and that printed text
// does not become a message.
func TestMessages(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		w := start(t, l, func(c *host.Config) { c.Params = []byte(`{"model":"opus","n":9007199254740991}`) })
		received := map[string]bool{}
		talk := func(r effect.ExchangeOpen, answer func(*effect.HostMessage) *effect.ExchangeReply) string {
			last, all := w.talk(r, answer)
			for _, typ := range all {
				received[typ] = true
			}
			return last
		}
		w.want("say", talk(effect.ExchangeOpen{Prompt: "say"}, values("3")), `{"type":"result","value":[3,"é\u2028"]}`)
		w.want("progress", w.notes["progress"], `{"type":"progress","message":"half","percent":50,"stage":"s","usage":{"tokens_in":3,"tokens_out":2,"tokens_cached":1},"cost_usd":0.5,"turns":4}`)
		w.want("plan_limit", w.notes["plan_limit"], `{"type":"plan_limit","window":"5h","status":"near","used_percent":81.5,"resets_at":"2026-02-18T05:00:00Z"}`)
		w.want("decide", talk(effect.ExchangeOpen{Prompt: "decide"}, values("true")),
			`{"type":"result","allow":true,"reason":"","input":{"a":1},"scope":"once"}`)
		w.want("fail", talk(effect.ExchangeOpen{Prompt: "fail"}, nil), `{"type":"error","message":"no disk","code":"E7"}`)
		w.want("given", talk(effect.ExchangeOpen{Prompt: "given", Context: []byte(`[1,{"é":null}]`), Schema: []byte(`{"type":"object"}`),
			Tools: []effect.ToolSpec{{Name: "sum", Description: "Adds <two>", Parameters: []byte(`{"type":"object"}`)}}}, nil),
			`{"type":"result","context":[1,{"é":null}],"schema":{"type":"object"},"params":{"model":"opus","n":9007199254740991},"session":null,`+
				`"tools":[{"name":"sum","description":"Adds <two>","parameters":{"type":"object"}}]}`)
		w.want("refused", talk(effect.ExchangeOpen{Prompt: "refused"}, func(*effect.HostMessage) *effect.ExchangeReply {
			return &effect.ExchangeReply{Error: "nobody knows"}
		}), `{"type":"result","refused":"nobody knows","cancelled":false}`)
		w.want("withdraw", talk(effect.ExchangeOpen{Prompt: "withdraw"}, bothAsked()), `{"type":"result","text":"withdrawn"}`)
		for _, m := range hostmsg.Messages() {
			if m.Sender == hostmsg.Host && m.Role != hostmsg.Acknowledges && !received[m.Type] {
				t.Errorf("the SDK never sent a message of type %s", m.Type)
			}
		}
		w.end()
		if !slices.Contains(w.log, "printed") {
			t.Errorf("the printed text is not in the log: %q", w.log)
		}
	})
}

// bothAsked returns an answer function for two questions. When both have arrived, it answers the
// question whose ID is not "w", and leaves the other one open.
func bothAsked() func(*effect.HostMessage) *effect.ExchangeReply {
	asked, other := 0, ""
	return func(m *effect.HostMessage) *effect.ExchangeReply {
		if m.ID != `"w"` {
			other = m.ID
		}
		if asked++; asked < 2 {
			return nil
		}
		return &effect.ExchangeReply{AnswerTo: other, Value: []byte("true")}
	}
}

// TestInit checks that an error of Init rejects the parameters.
func TestInit(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		w := start(t, l, func(c *host.Config) { c.Params = []byte(`{"model":"unknown"}`) })
		_, err := w.hosts.Perform(w.ctx, &effect.ExchangeOpen{Host: "Probe", Prompt: "say"})
		if err == nil || err.Error() != "host init failed: there is no such model" {
			t.Errorf("error = %v, want the error of Init", err)
		}
		c := l.probe(t)
		c.Name, c.Params = "Probe", []byte(`{"model":"opus"}`)
		hosts := host.New(host.Options{Configs: []host.Config{c}, Environ: os.Environ()})
		defer hosts.Close(w.ctx)
		state, err := hosts.Probe(w.ctx, "Probe")
		if err != nil || state.Version != "1.2.3" || !slices.Equal(state.Capabilities, []string{"cancel", "tools"}) {
			t.Errorf("Probe returned %+v, %v", state, err)
		}
	})
}

// TestCancel checks that a cancellation rejects open requests and that the process continues to
// run.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		c := l.probe(t)
		c.OutputFormat = "json"
		out := talkRaw(t, c, `{"type":"prompt","text":"refused"}`, `"question"`,
			`{"type":"cancel","reason":"enough"}`, `{"type":"result","refused":"cancelled: enough","cancelled":true}`,
			`{"type":"response","in_reply_to":"question","answer_to":"q1","value":"late"}`, "",
			`{"type":"prompt","text":"hello"}`, `{"type":"result","text":"as text: hello"}`,
			"bare words", `{"type":"result","text":"as text: bare words"}`,
			`{"type":"prompt","text":"refused"}`, `"question"`)
		if !strings.Contains(out, `"refused":"the program has ended","cancelled":true`) && !strings.Contains(out, `"cancelled":true,"refused":"the program has ended"`) {
			t.Errorf("output at the end of the input = %s", out)
		}
	})
}

// TestSteer checks that a task receives the messages of the program once, and that a message that
// arrives while no task is running is dropped.
func TestSteer(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		c := l.probe(t)
		c.OutputFormat = "json"
		talkRaw(t, c, `{"type":"prompt","text":"steered"}`, `"question"`,
			`{"type":"steer","id":"t1","text":"é one"}`, "", `{"type":"steer","id":"t2","text":"two"}`, "",
			`{"type":"response","in_reply_to":"question","answer_to":"q1","value":true}`, `{"type":"result","messages":["é one","two"],"rest":[],"queued":false}`,
			`{"type":"steer","id":"t3","text":"late"}`, "",
			`{"type":"prompt","text":"steered","queued":true}`, `"question"`,
			`{"type":"response","in_reply_to":"question","answer_to":"q2","value":true}`, `{"type":"result","messages":[],"rest":[],"queued":true}`)
	})
}

// talkRaw writes lines to a host. Each line is followed by the expected next output line of the
// host, as JSON or as a substring, or by "" if no output is expected. At the end talkRaw closes the
// input, requires exit code 0, and returns the remaining output.
func talkRaw(t *testing.T, c host.Config, lines ...string) string {
	t.Helper()
	cmd := exec.Command(c.Command, c.Args...)
	cmd.Env = os.Environ()
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t}
	d := json.NewDecoder(out)
	for i := 0; i < len(lines); i += 2 {
		fmt.Fprintln(in, lines[i])
		want := lines[i+1]
		if want == "" {
			continue
		}
		var got json.RawMessage
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(want, "{") {
			w.want(lines[i], string(got), want)
		} else if !strings.Contains(string(got), want) {
			t.Errorf("output after %s = %s", lines[i], got)
		}
	}
	in.Close()
	var rest strings.Builder
	for {
		var got json.RawMessage
		if d.Decode(&got) != nil {
			break
		}
		rest.Write(got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the host failed: %v", err)
	}
	return rest.String()
}

// TestJavaScriptIsGenerated checks that the JavaScript and the declarations are those that `make
// sdk` generates from the TypeScript.
func TestJavaScriptIsGenerated(t *testing.T) {
	for name, sources := range map[string]string{
		"typescript/concerto-host.js": "ts", "typescript/concerto-host.d.ts": "ts", "typescript/concerto.js": "ts", "typescript/concerto.d.ts": "ts",
		"../examples/hosts/typescript/hosts/publisher.mjs": "mts", "../examples/service/app.mjs": "mts",
	} {
		base, _, _ := strings.Cut(filepath.Base(name), ".")
		source, err := os.ReadFile(filepath.Join(filepath.Dir(name), base+"."+sources))
		if err != nil {
			t.Fatal(err)
		}
		generated, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(generated), "\n")
		want := fmt.Sprintf("// Made by `make sdk` from %s.%s, sha256 %x.", base, sources, sha256.Sum256(source))
		if first != want {
			t.Errorf("%s is out of date: run `make sdk`\nit begins with %s\nwant            %s", name, first, want)
		}
	}
}
