package decision

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTool(t *testing.T) {
	once := Answer{Decision: Decision{Allow: true, Scope: Once}, Match: MatchTool}
	session := Answer{Decision: Decision{Allow: true, Scope: Session}, Match: MatchTool}
	no := func(reason string) Answer { return Answer{Decision: Decision{Reason: reason}} }
	for in, want := range map[string]Answer{
		`true`: once, `"y"`: once, `"always"`: session, `"session"`: session, `false`: no(""), `"not now"`: no("not now"), `7`: no("not a decision: 7"), ``: no(""),
		`{"approved":true}`: once, `{"approved":"yes","reason":"r"}`: once, `{"approved":"no","reason":"r"}`: no("r"), `{"approved":false}`: no(""),
		`{"approved":"later"}`: no("later"), `{"approved":1}`: no("not a decision: 1"), `{"approved":null}`: no("not a decision: null"),
		`{"decision":"deny","approved":true}`:                  no(""),
		`{"decision":"allow","scope":"always","match":"args"}`: {Decision: Decision{Allow: true, Scope: Session}, Match: MatchArgs},
		`{"decision":"allow","match":"all"}`:                   no(`not a decision: {"decision":"allow","match":"all"}`),
		`{"decision":"allow","Match":"args"}`:                  no(`not a decision: {"decision":"allow","Match":"args"}`),
		`{"decision":"allow","input":{"a":1},"args_sha256":"ab"}`: {Decision: Decision{Allow: true, Scope: Once, Input: json.RawMessage(`{"a":1}`), ArgsSHA256: "ab"},
			Match: MatchTool},
		`{"decision":"respond","output":[1],"args_sha256":"ab"}`: {Decision: Decision{Allow: true, Scope: Once, ArgsSHA256: "ab"}, Respond: true,
			Output: json.RawMessage(`[1]`)},
		`{"decision":"deny","reason":"r","stop":true}`: {Decision: Decision{Reason: "r", Stop: true}},
		`{"decision":"respond","DECISION":"deny"}`:     no(`not a decision: {"decision":"respond","DECISION":"deny"}`),
		`{"decision":"maybe"}`:                         no(`not a decision: {"decision":"maybe"}`),
	} {
		if d := cmp.Diff(want, ParseTool([]byte(in))); d != "" {
			t.Errorf("ParseTool(%s) differs (-want +got):\n%s", in, d)
		}
	}
}
