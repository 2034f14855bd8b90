package adapter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
)

// recorded lists the recordings of vendors' agents, which internal/testkit/agentwire makes, and
// their instructions.
var recorded = map[string]struct {
	transport string
	vendor    Vendor
	tool      bool // it receives a tool, and calls it
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
}

// recordedTool is the tool that the agents received.
var recordedTool = Tools{{Name: "Calc_add", Description: "Adds two numbers.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`)}}

// recording reads the lines of a recording's first process.
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

// newAdapter returns the adapter of a host, which resumes a session.
func newAdapter(_ testing.TB, transport string, v Vendor, resume string) Adapter {
	cfg := v.AdapterConfig("Coder", "/work")
	cfg.Resume = resume
	return Protocols[transport].New(cfg)
}

// newConfiguredAdapter returns the adapter of a host with recordedTool, over a bridge with the
// recordings' path if the vendor uses one.
func newConfiguredAdapter(_ testing.TB, transport string, v Vendor) Adapter {
	cfg := v.AdapterConfig("Coder", "/work")
	cfg.Tools = recordedTool
	if transport == TransportACP {
		cfg.Bridge = &BridgeEntry{Command: "***CONCERTO***", Args: []string{"host", "bridge", "***CONCERTO_BRIDGE***"}}
	}
	return Protocols[transport].New(cfg)
}

// The responses of a program that allows everything and answers with tabs.
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

// Each recording produces the messages of its golden file, and the adapter's lines to the agent are
// those that the agent received.
func TestRecorded(t *testing.T) {
	for name, of := range recorded {
		t.Run(name, func(t *testing.T) {
			file := golden.Open(t, filepath.Join("testdata/wire", name+".golden"))
			defer file.Close()
			a := newAdapter(t, of.transport, of.vendor, "")
			if of.tool {
				a = newConfiguredAdapter(t, of.transport, of.vendor)
			}
			var seen strings.Builder
			var written []string
			collect := func(s Output) {
				for _, l := range s.Lines {
					written = append(written, string(l))
				}
			}
			collect(a.ToAgent([]byte(`{"type":"init"}`)))
			for _, l := range recording(t, name) {
				switch l.Dir {
				case hosttrace.To:
					if len(written) == 0 || written[0] != l.Text {
						t.Fatalf("the recorded line to the agent is\n%s\nthe adapter wrote\n%s", l.Text, strings.Join(written, "\n"))
					}
					written = written[1:]
				case hosttrace.From:
					s := a.FromAgent([]byte(l.Text))
					collect(s)
					for _, ours := range s.Messages {
						seen.WriteString(shown(t, ours, l.Text) + "\n")
						var m map[string]any
						if err := json.Unmarshal(ours, &m); err != nil {
							t.Fatal(err)
						}
						if answer := answerOf(m); answer != "" {
							collect(a.ToAgent([]byte(answer)))
						}
					}
					if reread := reread(t, a); !reflect.DeepEqual(reread, a) {
						t.Fatalf("the state is not plain data:\n%s", cmp.Diff(a, reread, cmp.Exporter(func(reflect.Type) bool { return true })))
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

// shown returns a message without its payload, which is the vendor's line.
func shown(t *testing.T, ours []byte, line string) string {
	t.Helper()
	var m struct{ Payload json.RawMessage }
	if err := json.Unmarshal(ours, &m); err != nil {
		t.Fatalf("%s: %v", ours, err)
	}
	if m.Payload == nil {
		return string(ours)
	}
	if string(m.Payload) != line {
		t.Errorf("the payload of %s is not the line", ours)
	}
	return strings.Replace(string(ours), `,"payload":`+line, ` + payload`, 1)
}

// reread returns an adapter whose state was encoded and decoded. Its configuration is not part of
// the state.
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
