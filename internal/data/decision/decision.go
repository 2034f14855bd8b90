// Package decision interprets the answers to approvals. An answer that is not clearly yes means no.
package decision

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// How far an allowance goes, from the narrowest.
const (
	Once    = "once"    // this time
	Session = "session" // as long as the conversation lasts
	Always  = "always"  // from now on
)

// Deny is the word for a refusal where scopes are listed.
const Deny = "deny"

// scopes lists all scopes, from the narrowest.
var scopes = []string{Once, Session, Always}

// Decision is a decision in full. The zero value denies.
type Decision struct {
	Allow      bool
	Scope      string          // of an allowance
	Input      json.RawMessage // executed instead of the requested arguments; nil executes those
	Reason     string          // of a denial; may be ""
	Option     string          // the option of the asker that is chosen; "" leaves it to Scope
	Stop       bool            // a denial that also ends what the asker is doing
	ArgsSHA256 string          // the arguments that it is for, see Covers; may be ""
}

// words maps texts to decisions. It is created on first use to keep the start of the command fast.
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

// Parse returns the meaning of an answer, a JSON value: true, false, a text, or a decision in full.
// Any other text denies, with itself as the reason; so does any other value.
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

// normalize returns a text in the form of the keys of words.
func normalize(text string) string {
	return strings.TrimSpace(strings.ToLower(strings.Trim(strings.TrimSpace(text), ".!")))
}

// denyInvalid returns the meaning of an invalid decision.
func denyInvalid(answer []byte) Decision {
	return Decision{Reason: "not a decision: " + string(answer)}
}

// readObject reads a decision as an object. A member of another type, or another word
// than there is, makes it none.
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

// members are what a decision in full may have.
var members = [...]string{"decision", "scope", "input", "reason", "option", "stop", "args_sha256"}

// isAmbiguous reports whether an object contains a member twice, or in another case: json.Unmarshal
// would use the last one. further lists additional members.
func isAmbiguous(object []byte, further ...string) bool {
	members := append(further, members[:]...)
	d := json.NewDecoder(bytes.NewReader(object))
	seen := map[string]bool{}
	if _, err := d.Token(); err != nil {
		return true
	}
	for d.More() {
		name, err := d.Token()
		text, isName := name.(string)
		if err != nil || !isName || seen[text] ||
			slices.ContainsFunc(members, func(m string) bool { return m != text && strings.EqualFold(m, text) }) {
			return true
		}
		seen[text] = true
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return true
		}
	}
	return false
}

// Within returns the decision with its scope among those offered: one that is not becomes the next
// narrower one, never a wider one. It is a denial when there is none.
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

// Covers returns the decision if it is for these arguments, a JSON value, or names none; otherwise
// a denial with the reason.
func (d Decision) Covers(args []byte) Decision {
	if d.ArgsSHA256 == "" || d.ArgsSHA256 == Hash(args) {
		return d
	}
	return Decision{Reason: "the approval is for other arguments", Stop: d.Stop}
}

// Hash returns the SHA-256 of arguments, a JSON value, in canonical form, as hexadecimal digits; ""
// when they have no canonical form.
func Hash(args []byte) string {
	text, err := jcs.Canonical(args)
	if err != nil {
		return ""
	}
	return hexsum.SHA256(text)
}
