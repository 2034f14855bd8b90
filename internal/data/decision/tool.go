package decision

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Additional members of answers to approval requests for tool calls.
const (
	Respond   = "respond" // Output is the result, and the tool is not called
	MatchTool = "tool"    // a session approval covers all calls of the tool
	MatchArgs = "args"    // a session approval covers only calls with the same arguments
)

// Answer is a decision about a tool call.
type Answer struct {
	Decision
	Respond bool            // the tool is not called, and Output is the result of the call
	Output  json.RawMessage // JSON; nil means null
	Match   string          // which later calls an approval beyond once covers
}

// toolScopes returns the scopes that an approval of a tool call may have.
func toolScopes() []string { return []string{Once, Session} }

// ParseTool interprets an answer to the approval request of a tool call. It accepts the answers of
// Parse, objects that contain a response or limit the approval, and the older form {approved: …,
// reason?}. The scope Always counts as Session.
func ParseTool(answer []byte) Answer {
	answer = bytes.TrimSpace(answer)
	if len(answer) == 0 || answer[0] != '{' {
		return newAnswer(Parse(answer))
	}
	var o struct {
		Decision string          `json:"decision"`
		Approved json.RawMessage `json:"approved"`
		Reason   string          `json:"reason"`
		Output   json.RawMessage `json:"output"`
		Match    *string         `json:"match"`
		Stop     bool            `json:"stop"`
		Hash     string          `json:"args_sha256"`
	}
	if json.Unmarshal(answer, &o) != nil || isAmbiguous(answer, "approved", "output", "match") {
		return newAnswer(denyInvalid(answer))
	}
	if o.Decision == "" && o.Approved != nil {
		d := Parse(o.Approved)
		if !d.Allow && o.Reason != "" {
			d.Reason = o.Reason
		}
		return newAnswer(d)
	}
	if o.Decision == Respond {
		return Answer{Decision: Decision{Allow: true, Scope: Once, Reason: o.Reason, Stop: o.Stop, ArgsSHA256: o.Hash}, Respond: true, Output: o.Output}
	}
	a := newAnswer(readObject(answer))
	if o.Match != nil && a.Allow {
		if !slices.Contains([]string{MatchTool, MatchArgs}, *o.Match) {
			return newAnswer(denyInvalid(answer))
		}
		a.Match = *o.Match
	}
	return a
}

func newAnswer(d Decision) Answer {
	a := Answer{Decision: d.Within(toolScopes())}
	if a.Allow {
		a.Match = MatchTool
	}
	return a
}

// Written converts an answer that is given as text to JSON. A JSON object is returned unchanged;
// any other text becomes a JSON string.
func Written(answer []byte) []byte {
	var text string
	if json.Unmarshal(answer, &text) != nil {
		return answer
	}
	if object := bytes.TrimSpace([]byte(text)); len(object) > 0 && object[0] == '{' && json.Valid(object) {
		return object
	}
	return answer
}
