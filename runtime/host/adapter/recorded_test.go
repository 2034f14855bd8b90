package adapter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
)

// recorded maps the names of the recordings of vendors' agents to their configurations.
// internal/testkit/agentwire makes the recordings.
var recorded = map[string]struct {
	transport string
	vendor    Vendor
	tool      bool   // the agent receives recordedTool and calls it
	steerAt   string // type of the message after which the agent is steered; "" if it is not
}{
	"claude":     {transport: "claude-code"},
	"codex":      {transport: "codex", vendor: Vendor{Model: "gpt-5.2"}},
	"claude-acp": {transport: "acp"},
	"gemini":     {transport: "acp", vendor: Vendor{Model: "gemini-2.5-pro"}},
	"opencode":   {transport: "acp"},

	"claude-tool":     {transport: "claude-code", tool: true},
	"codex-tool":      {transport: "codex", vendor: Vendor{Model: "gpt-5.2"}, tool: true},
	"claude-acp-tool": {transport: "acp", tool: true},
	"gemini-tool":     {transport: "acp", vendor: Vendor{Model: "gemini-2.5-pro"}, tool: true},
	"opencode-tool":   {transport: "acp", tool: true},

	"claude-steer":        {transport: "claude-code", steerAt: "approval"},
	"claude-steer-late":   {transport: "claude-code", steerAt: "partial"},
	"codex-steer":         {transport: "codex", vendor: Vendor{Model: "gpt-5.2"}, steerAt: "approval"},
	"codex-steer-late":    {transport: "codex", vendor: Vendor{Model: "gpt-5.2"}, steerAt: "partial"},
	"codex-steer-refused": {transport: "codex", vendor: Vendor{Model: "gpt-5.2"}, steerAt: "partial"},
}

// recordedTool is the tool that the agents received.
var recordedTool = Tools{{Name: "Calc_add", Description: "Adds two numbers.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`)}}

// recording returns the lines of the first process in a recording.
func recording(t *testing.T, name string) []hosttrace.Recorded {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/wire", name+".wire"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := hosttrace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return all.Process("Coder", 1)
}

// newAdapter returns the adapter of a host. It resumes the session resume unless that is "".
func newAdapter(_ testing.TB, transport string, v Vendor, resume string) Adapter {
	cfg := v.AdapterConfig("Coder", "/work")
	cfg.Resume = resume
	return Protocols[transport].New(cfg)
}

// newConfiguredAdapter returns the adapter of a host that has recordedTool. If the vendor uses a
// bridge, the bridge has the same path as in the recordings.
func newConfiguredAdapter(_ testing.TB, transport string, v Vendor) Adapter {
	cfg := v.AdapterConfig("Coder", "/work")
	cfg.Tools = recordedTool
	if transport == TransportACP {
		cfg.Bridge = &BridgeEntry{Command: "***CONCERTO***", Args: []string{"host", "bridge", "***CONCERTO_BRIDGE***"}}
	}
	return Protocols[transport].New(cfg)
}

// answerOf returns the response of a program that allows every action and answers every question
// with tabs.
func answerOf(m map[string]any) string {
	id, _ := json.Marshal(m["id"])
	switch m["type"] {
	case "init_ack":
		return `{"type":"prompt","text":"please work"}`
	case "approval":
		return `{"type":"response","in_reply_to":"approval","answer_to":` + string(id) + `,"value":"yes"}`
	case "tool_call":
		return `{"type":"response","in_reply_to":"tool_call","answer_to":` + string(id) + `,"value":3}`
	case "question":
		return `{"type":"response","in_reply_to":"question","answer_to":` + string(id) + `,"value":"tabs"}`
	}
	return ""
}

// TestRecorded plays the agent's lines of each recording. The messages must equal those in the
// golden file, and the adapter must write exactly the lines that the agent received in the
// recording.
func TestRecorded(t *testing.T) {
	for name, of := range recorded {
		t.Run(name, func(t *testing.T) {
			file := golden.Open(t, filepath.Join("testdata/wire", name+".golden"))
			defer file.Close()
			a := newAdapter(t, of.transport, of.vendor, "")
			if of.tool {
				a = newConfiguredAdapter(t, of.transport, of.vendor)
			}
			if c, ok := a.(*claude); ok {
				c.cfg.Seed = "seed"
			}
			var seen strings.Builder
			var written []string
			var ids []string // pairs of UUIDs: recorded, and of the adapter
			collect := func(s Output) {
				for _, l := range s.Lines {
					written = append(written, string(l))
				}
			}
			collect(a.ToAgent([]byte(`{"type":"init"}`)))
			steerAt, queued := of.steerAt, false
			for _, l := range recording(t, name) {
				switch l.Dir {
				case hosttrace.To:
					if len(written) == 0 || (hosttrace.Comparison{Strict: true}).Differs(l.Text, written[0]) != "" {
						t.Fatalf("recorded line to the agent:\n%s\nlines of the adapter:\n%s", l.Text, strings.Join(written, "\n"))
					}
					if was := uuidOf(t, l.Text); was != "" {
						ids = append(ids, was, uuidOf(t, written[0]))
					}
					written = written[1:]
				case hosttrace.From:
					l.Text = strings.NewReplacer(ids...).Replace(l.Text)
					s := a.FromAgent([]byte(l.Text))
					collect(s)
					for _, x := range s.Steered {
						seen.WriteString(fmt.Sprintf("steered %s: %v\n", x.ID, x.Accepted))
						queued = !x.Accepted
					}
					if strings.Contains(l.Text, `"isReplay":true`) {
						seen.WriteString(fmt.Sprintf("begins a turn: %v\n", a.(TurnBeginner).BeginsTurn()))
					}
					for _, ours := range s.Messages {
						seen.WriteString(shown(t, ours, l.Text) + "\n")
						var m map[string]any
						if err := json.Unmarshal(ours, &m); err != nil {
							t.Fatal(err)
						}
						if m["type"] == steerAt {
							steerAt = ""
							collect(a.ToAgent([]byte(`{"type":"steer","id":"t1","text":"add a test as well"}`)))
						}
						if queued && m["type"] == "result" {
							queued = false
							collect(a.ToAgent([]byte(`{"type":"prompt","text":"add a test as well","queued":true}`)))
						}
						if answer := answerOf(m); answer != "" {
							collect(a.ToAgent([]byte(answer)))
						}
					}
					if reread := reread(t, a); !reflect.DeepEqual(reread, a) {
						t.Fatalf("the state changed when encoded and decoded (-want +got):\n%s", cmp.Diff(a, reread, cmp.Exporter(func(reflect.Type) bool { return true })))
					}
				}
			}
			if len(written) > 0 {
				t.Errorf("the adapter wrote lines that the recording lacks: %s", written)
			}
			file.Check("messages", seen.String())
		})
	}
}

func uuidOf(t *testing.T, line string) string {
	t.Helper()
	var m struct{ UUID string }
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	return m.UUID
}

// shown returns a message without its payload, after checking that the payload is in the agent's
// line.
// The end of an exchange that has waited for tasks has the payload of an earlier line.
func shown(t *testing.T, ours []byte, line string) string {
	t.Helper()
	var m struct {
		Type    string
		Waits   bool
		Payload json.RawMessage
	}
	if err := json.Unmarshal(ours, &m); err != nil {
		t.Fatalf("could not decode message %s: %v", ours, err)
	}
	if m.Payload == nil {
		return string(ours)
	}
	if string(m.Payload) != line && !strings.Contains(line, string(m.Payload)) && !m.Waits && m.Type != "result" && m.Type != "error" {
		t.Errorf("the payload of message %s is not in the agent's line", ours)
	}
	return strings.Replace(string(ours), `,"payload":`+string(m.Payload), ` + payload`, 1)
}

// reread encodes the adapter's state, and returns a new adapter with the decoded state but without
// a configuration.
func reread(t *testing.T, a Adapter) Adapter {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	reread := reflect.New(reflect.TypeOf(a).Elem())
	if err := json.Unmarshal(text, reread.Interface()); err != nil {
		t.Fatal(err)
	}
	copied := reread.Interface().(Adapter)
	switch a := a.(type) {
	case *claude:
		copied.(*claude).cfg = a.cfg
	case *codex:
		copied.(*codex).cfg = a.cfg
	case *ACP:
		copied.(*ACP).cfg = a.cfg
	}
	return copied
}
