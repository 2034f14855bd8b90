package protocol_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/jsonschema"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestTable checks that each message type has exactly one complete row.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range protocol.Messages {
		switch {
		case seen[m.Type]:
			t.Errorf("%s is listed twice", m.Type)
		case m.Data == nil || m.Doc == "" || len(m.From) == 0 || m.Since < 1 || m.Since > protocol.Version:
			t.Errorf("the table row of %s is incomplete", m.Type)
		case (m.Kind == protocol.RPC) != (m.Result != nil) || (m.Kind == protocol.RPC) != (strings.HasPrefix(m.Type, "rpc.") && m.Type != protocol.RPCResponse):
			t.Errorf("%s: exactly the RPCs must have a result and a name that begins with rpc.", m.Type)
		case m.Gated && m.Kind != protocol.RPC:
			t.Errorf("%s: only an RPC may be gated", m.Type)
		}
		seen[m.Type] = true
	}
}

// TestSchemas checks that the schema files are up to date. On each vector, the schema must agree
// with Check, as far as a schema can express the rules.
func TestSchemas(t *testing.T) {
	for _, m := range protocol.Messages {
		file := filepath.Join("..", "..", "spec", "relay", m.Type+".json")
		if text, err := os.ReadFile(file); err != nil || string(text) != string(protocol.Schema(m.Data))+"\n" {
			t.Errorf("%s differs from the table (%v): run make gen", file, err)
		}
	}
	for _, file := range []string{"seed.json", "new.json", "refused.json"} {
		for _, v := range vectors(t, file) {
			e, _ := protocol.Parse([]byte(v.Frame))
			m := protocol.Find(e.Type)
			if m == nil || e.Data == nil || e.Enc != nil || v.Refusal != "" && !strings.HasPrefix(v.Refusal, "bad_message: "+e.Type+":") {
				continue
			}
			if onlyOurs[v.Name] {
				continue
			}
			s, invalid := jsonschema.Compile(protocol.Schema(m.Data))
			if len(invalid) > 0 {
				t.Fatalf("the schema of %s is invalid: %v", m.Type, invalid)
			}
			value, err := jsonschema.Decode(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			if problems := s.Check(value); (len(problems) > 0) != (v.Refusal != "") {
				t.Errorf("vector %s: the schema reports %v, but Check reports %q", v.Name, problems, v.Refusal)
			}
		}
	}
}

// onlyOurs lists the vectors on which a schema differs from Check. Check accepts null for omitted
// fields, accepts events beyond the limits of hostd, and rejects integers that do not
// fit into 64 bits.
var onlyOurs = map[string]bool{"start": true, "questions": true, "an event longer than ours": true, "exit code beyond": true}

// TestCodes checks that each code has exactly one complete row.
func TestCodes(t *testing.T) {
	seen := map[protocol.Code]bool{}
	for _, c := range protocol.Codes {
		if seen[c.Code] || c.Doc == "" || c.HTTP < 400 || protocol.HTTPStatus(c.Code) != c.HTTP {
			t.Errorf("the table row of %s is duplicate or incomplete", c.Code)
		}
		seen[c.Code] = true
	}
}

// TestReference checks that the manual's chapter is up to date.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "spec", "relay.md"))
	if err != nil || string(text) != protocol.Reference() {
		t.Errorf("spec/relay.md differs from the tables (%v): run make gen", err)
	}
}

// TestMachines compares the transitions and final states of the state machines with section 5 of
// relay.md.
func TestMachines(t *testing.T) {
	for _, c := range []struct {
		machine *protocol.StateMachine
		arrows  string
		ends    string
	}{
		{&protocol.RunMachine, `>running running>awaiting_input awaiting_input>running running>awaiting_approval awaiting_input>awaiting_approval
			awaiting_approval>running awaiting_approval>awaiting_input running>exited awaiting_input>exited awaiting_approval>exited lost>exited
			running>lost awaiting_input>lost awaiting_approval>lost lost>running lost>awaiting_input lost>awaiting_approval`, "exited"},
		{&protocol.InputMachine, ">accepted accepted>sent accepted>expired sent>applied sent>rejected sent>indeterminate", "applied expired indeterminate rejected"},
		{&protocol.RequestMachine, `>open open>decided decided>resolved decided>open open>withdrawn decided>withdrawn open>expired decided>expired
			open>resolved open>withdrawn decided>withdrawn`, "expired resolved withdrawn"},
		{&protocol.RPCMachine, `>asked asked>running asked>waiting waiting>running waiting>denied waiting>expired waiting>withdrawn running>answered
			running>failed asked>asked running>asked asked>indeterminate running>indeterminate`, "answered denied expired failed indeterminate withdrawn"},
	} {
		var arrows []string
		for _, s := range c.machine.Steps {
			arrows = append(arrows, s.From+">"+s.To)
			if to, ok := c.machine.Next(s.From, s.On); !ok || to != s.To {
				t.Errorf("machine %s: Next(%s, %s) = %s, %v", c.machine.Name, s.From, s.On, to, ok)
			}
		}
		want := strings.Fields(c.arrows)
		slices.Sort(want)
		slices.Sort(arrows)
		if !slices.Equal(arrows, want) {
			t.Errorf("machine %s: transitions %v, want %v", c.machine.Name, arrows, want)
		}
		var ends []string
		for _, state := range c.machine.States() {
			if c.machine.IsFinal(state) {
				ends = append(ends, state)
			}
		}
		slices.Sort(ends)
		if got := strings.Join(ends, " "); got != c.ends {
			t.Errorf("machine %s: final states %s, want %s", c.machine.Name, got, c.ends)
		}
		if to, ok := c.machine.Next("exited", "started"); ok || to != "exited" {
			t.Errorf("machine %s allows the event started after exited", c.machine.Name)
		}
	}
}

// TestDecode checks that data which Check accepts can be decoded.
func TestDecode(t *testing.T) {
	for _, v := range vectors(t, "new.json") {
		if e, refusal := read(v.Frame); refusal == nil && e.Type == protocol.RunPermissionRequested {
			d, err := protocol.Decode[protocol.PermissionRequested](&e)
			if err != nil || d.RequestID != "q3" || len(d.Questions) != 1 || string(d.Questions[0].Options[0].Value) != "1" || *d.From.Line != 3 {
				t.Errorf("Decode returns %+v, error %v", d, err)
			}
			return
		}
	}
	t.Error("new.json has no valid permission request")
}

// TestEveryFieldIsNamed checks that every field of the data structs has a JSON name in its tag.
func TestEveryFieldIsNamed(t *testing.T) {
	for _, m := range protocol.Messages {
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(protocol.Schema(m.Data), &s); err != nil {
			t.Fatal(err)
		}
		for name := range s.Properties {
			if name == "" || name != strings.ToLower(name) {
				t.Errorf("the data of %s has a field without a lower-case JSON name: %q", m.Type, name)
			}
		}
	}
}
