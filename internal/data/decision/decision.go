// Package decision interprets the answers to approval requests. An answer that is not clearly an
// approval is a denial.
package decision

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonread"
)

// The scopes of an approval, from the narrowest.
const (
	Once    = "once"    // for this request
	Session = "session" // until the end of the conversation
	Always  = "always"  // for all future requests
)

// Deny is the word for a denial in lists of scopes.
const Deny = "deny"

// scopes contains all scopes, from the narrowest.
var scopes = []string{Once, Session, Always}

// Decision is the meaning of an answer to an approval request. The zero value is a denial.
type Decision struct {
	Allow      bool
	Scope      string          // scope of an approval; "" for a denial
	Input      json.RawMessage // arguments that replace the requested ones; nil means the requested ones
	Reason     string          // reason of a denial; may be ""
	Option     string          // name of the chosen option of the request; "" means the one that Scope selects
	Stop       bool            // the denial also stops the requester's current work
	ArgsSHA256 string          // hash of the arguments that the approval is for (see Covers); "" means any
}

// words maps texts to decisions. It is built at the first use, so that the command starts quickly.
var words = sync.OnceValue(func() map[string]Decision {
	all := map[string]Decision{}
	for _, w := range strings.Fields("yes y ok okay allow approve approved accept once true") {
		all[w] = Decision{Allow: true, Scope: Once}
	}
	for _, w := range []string{Session, Always} {
		all[w] = Decision{Allow: true, Scope: w}
	}
	for _, w := range strings.Fields("false no n deny denied reject rejected decline") {
		all[w] = Decision{}
	}
	all[""] = Decision{}
	return all
})

// Parse interprets an answer as JSON. Valid answers are true, false, a text in words, and an object
// with the members of a Decision. Any other text is a denial with that text as its reason. Any
// other value is a denial too.
func Parse(answer []byte) Decision {
	answer = bytes.TrimSpace(answer)
	var text string
	switch {
	case string(answer) == "true":
		return words()["true"]
	case string(answer) == "false":
		return words()["false"]
	case len(answer) == 0:
		return words()[""]
	case answer[0] == '{':
		return readObject(answer)
	case answer[0] == '"' && json.Unmarshal(answer, &text) == nil:
		if d, ok := words()[normalize(text)]; ok {
			return d
		}
		return Decision{Reason: text}
	}
	return denyInvalid(answer)
}

// normalize converts a text to the form of the keys of words.
func normalize(text string) string {
	return strings.TrimSpace(strings.ToLower(strings.Trim(strings.TrimSpace(text), ".!")))
}

// denyInvalid returns the denial for an invalid answer.
func denyInvalid(answer []byte) Decision {
	return Decision{Reason: "not a decision: " + string(answer)}
}

// readObject parses a decision that is an object. If a member has a wrong type or an unknown value,
// the result is a denial.
func readObject(answer []byte) Decision {
	var o struct {
		Decision   string          `json:"decision"`
		Scope      *string         `json:"scope"`
		Input      json.RawMessage `json:"input"`
		Reason     string          `json:"reason"`
		Option     string          `json:"option"`
		Stop       bool            `json:"stop"`
		ArgsSHA256 string          `json:"args_sha256"`
	}
	if json.Unmarshal(answer, &o) != nil || isAmbiguous(answer) {
		return denyInvalid(answer)
	}
	if string(o.Input) == "null" {
		o.Input = nil
	}
	d := Decision{Allow: o.Decision == "allow", Input: o.Input, Reason: o.Reason, Option: o.Option, Stop: o.Stop, ArgsSHA256: o.ArgsSHA256}
	switch {
	case o.Decision != "allow" && o.Decision != Deny:
		return denyInvalid(answer)
	case o.Scope == nil:
		d.Scope = Once
	case !slices.Contains(scopes, *o.Scope):
		return denyInvalid(answer)
	default:
		d.Scope = *o.Scope
	}
	if !d.Allow {
		d.Scope = ""
	}
	return d
}

// members contains the names of the members that a decision object may have.
var members = [...]string{"decision", "scope", "input", "reason", "option", "stop", "args_sha256"}

// isAmbiguous reports whether an object contains a member twice, or in another letter case, because
// json.Unmarshal would use the last one. further contains additional allowed members.
func isAmbiguous(object []byte, further ...string) bool {
	members := append(further, members[:]...)
	all, err := jsonread.List(object)
	if err != nil {
		return true
	}
	seen := map[string]bool{}
	for _, x := range all {
		if seen[x.Name] || slices.ContainsFunc(members, func(m string) bool { return m != x.Name && strings.EqualFold(m, x.Name) }) {
			return true
		}
		seen[x.Name] = true
	}
	return false
}

// Within returns the decision with a scope that is in offered. If the scope is not offered, the
// next narrower offered scope replaces it. If there is none, the result is a denial.
func (d Decision) Within(offered []string) Decision {
	if !d.Allow {
		return d
	}
	for at := slices.Index(scopes, d.Scope); at >= 0; at-- {
		if slices.Contains(offered, scopes[at]) {
			d.Scope = scopes[at]
			return d
		}
	}
	return Decision{Reason: "nothing as narrow as '" + d.Scope + "' can be allowed here", Stop: d.Stop}
}

// Covers returns the decision if it is for the arguments args, given as JSON, or for any arguments.
// Otherwise it returns a denial with the reason.
func (d Decision) Covers(args []byte) Decision {
	if d.ArgsSHA256 == "" || d.ArgsSHA256 == Hash(args) {
		return d
	}
	return Decision{Reason: "the approval is for other arguments", Stop: d.Stop}
}

// Hash returns the SHA-256 in hex of arguments in canonical JSON, or "" if they have no canonical
// form.
func Hash(args []byte) string {
	text, err := jcs.Canonical(args)
	if err != nil {
		return ""
	}
	return hexsum.SHA256(text)
}
