package decision

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Additional members of answers to the approval of a tool call.
const (
	Respond   = "respond" // Output is given in the tool's place
	MatchTool = "tool"    // an allowance for a session is for all calls of the tool
	MatchArgs = "args"    // it is for the same arguments
)

// Answer is a decision about a tool's call.
type Answer struct {
	Decision
	Respond bool            // the tool is not called: Output is its result
	Output  json.RawMessage // nil: null
	Match   string          // of an allowance for longer than once
}

// toolScopes returns how far an allowance of a tool can go.
func toolScopes() []string { return []string{Once, Session} }

// ParseTool returns the meaning of an answer to the approval of a tool call: like Of, and also
// decisions that respond instead of the tool or limit the permission, and the older {approved: …,
// reason?}. Always lasts as long as the session.
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

// Written returns an answer given by a person or in advance as text: a JSON object unchanged,
// anything else as its text.
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
