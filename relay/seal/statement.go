package seal

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Kinds of statements.
const (
	KindDecide = "decide"
	KindInput  = "input"
	KindKeys   = "keys"
	KindStop   = "stop"
	KindResize = "resize"
	KindRPC    = "rpc"
)

var kinds = []string{KindDecide, KindInput, KindKeys, KindStop, KindResize, KindRPC}

// Statement is what a device, or the host for its own user, signs. A device sets all members that
// apply to the kind, except those that Sign sets.
type Statement struct {
	V       int64    `json:"v"` // set by Sign
	Account string   `json:"account"`
	Host    string   `json:"host"`
	Run     string   `json:"run,omitempty"`
	Kind    string   `json:"kind"`
	ID      string   `json:"id"`               // of the request, the input or the command
	Device  string   `json:"device,omitempty"` // set by Sign
	Local   *Process `json:"local,omitempty"`  // set by SignLocal
	// Counter is larger than that of the device's previous statement to the host.
	Counter int64 `json:"counter,omitempty"`
	// After is the counter of the device's previous input or keys to the run, or 0.
	After         int64    `json:"after,omitempty"`
	Fresh         string   `json:"fresh,omitempty"` // the newest token of the host
	At            string   `json:"at"`              // set by Sign
	Roster        Position `json:"roster"`          // the newest that the signer has verified
	RequestSHA256 string   `json:"request_sha256,omitempty"`
	ArgsSHA256    string   `json:"args_sha256,omitempty"`
	Decision      string   `json:"decision,omitempty"` // approve or deny
	Scope         string   `json:"scope,omitempty"`    // once or session
	ContentSHA256 string   `json:"content_sha256"`     // set by Sign
}

// Process is the process at the host's machine that has sent a decision.
type Process struct {
	UID int64 `json:"uid"`
	PID int64 `json:"pid"`
}

// Signed is a statement with its signature, as a ledger stores it.
type Signed struct {
	Statement json.RawMessage `json:"statement"`
	Sig       string          `json:"sig"`
	Guest     *Guest          `json:"guest,omitempty"` // nil for a device of the roster
}

// Command is a signed statement with its content, as a device sends it.
type Command struct {
	Signed
	Content json.RawMessage `json:"content"`
}

// content is the data of a command with a salt, so that a ledger does not reveal a short answer.
type content struct {
	Salt string          `json:"salt"`
	Data json.RawMessage `json:"data"`
}

const saltSize = 16

// Sign returns a command with data, a JSON object. Its error is a *Refusal if a member of the
// statement has the wrong form.
func (s Statement) Sign(k *Keys, data json.RawMessage, now time.Time) (Command, error) {
	s.Device, s.Local = k.Public().DeviceID(), nil
	return s.signWith(k, contextCommand, data, now)
}

// SignLocal returns a decision of a process at the host's machine, signed with the host's keys. The
// members counter, after and fresh do not apply. Its error is as that of Sign.
func (s Statement) SignLocal(k *Keys, p Process, data json.RawMessage, now time.Time) (Command, error) {
	s.Device, s.Local = "", &p
	return s.signWith(k, contextLocal, data, now)
}

func (s Statement) signWith(k *Keys, context string, data json.RawMessage, now time.Time) (c Command, err error) {
	text, err := jsonwrite.Encode(content{encode64(randomBytes(saltSize)), data})
	if err != nil {
		return c, refuse(BadMessage, "data: %v", err)
	}
	if c.Content, err = canonical(text); err != nil {
		return c, err
	}
	if _, err := readContent(c.Content); err != nil {
		return c, err
	}
	s.V, s.At, s.ContentSHA256 = 1, formatTime(now), hexsum.SHA256(c.Content)
	if err := s.check(); err != nil {
		return c, err
	}
	c.Statement = encode(s)
	c.Sig = k.signText(context, c.Statement)
	return c, nil
}

// HashRequest returns request_sha256: the hash of a request's whole data as JSON. Its error is a
// *Refusal.
func HashRequest(request json.RawMessage) (string, error) {
	text, err := canonical(request)
	return hexsum.SHA256(text), err
}

// readContent returns the data of a canonical content.
func readContent(text []byte) (json.RawMessage, error) {
	var c content
	if err := decodeLong(text, &c); err != nil {
		return nil, err
	}
	if decode64(c.Salt, saltSize) == nil || len(c.Data) == 0 || c.Data[0] != '{' {
		return nil, refuse(BadMessage, "the content has no salt, or no object as data")
	}
	return c.Data, nil
}

// read decodes a statement. It returns the canonical form, which is signed.
func (s Signed) read() (*Statement, []byte, error) {
	var st Statement
	if len(s.Statement) > maxText {
		return nil, nil, refuse(BadMessage, "the statement has %d bytes; the maximum is %d", len(s.Statement), maxText)
	}
	text, err := canonical(s.Statement)
	if err != nil {
		return nil, nil, err
	}
	if err := decode(text, &st); err != nil {
		return nil, nil, err
	}
	return &st, text, st.check()
}

// check validates the form.
func (s *Statement) check() error {
	if s.V != 1 {
		return refuse(Unsupported, "the statement has version %d", s.V)
	}
	for _, id := range []string{s.Account, s.Host, s.ID} {
		if !idForm.MatchString(id) {
			return refuse(BadMessage, "%q is no id", id)
		}
	}
	_, isTime := parseTime(s.At)
	switch {
	case !slices.Contains(kinds, s.Kind):
		return refuse(BadMessage, "%q is no kind of statements", s.Kind)
	case !idForm.MatchString(s.Run) && (s.Run != "" || s.Kind != KindRPC):
		return refuse(BadMessage, "run is %q, which is no id", s.Run)
	case !isTime:
		return refuse(BadMessage, "at is %q, which is no time", s.At)
	case s.Roster.N < 1 || s.Roster.N > maxInt || !hashForm.MatchString(s.Roster.Hash):
		return refuse(BadMessage, "roster has the wrong form")
	case !hashForm.MatchString(s.ContentSHA256):
		return refuse(BadMessage, "content_sha256 has the wrong form")
	}
	if s.Local != nil {
		if s.Local.UID < 0 || s.Local.UID > maxInt || s.Local.PID < 1 || s.Local.PID > maxInt {
			return refuse(BadMessage, "local has the wrong form")
		}
		if s.Kind != KindDecide || s.Device != "" || s.Counter != 0 || s.After != 0 || s.Fresh != "" {
			return refuse(BadMessage, "a local statement is a decision without device, counter, after and fresh")
		}
		return s.checkDecision()
	}
	ordered := s.Kind == KindInput || s.Kind == KindKeys
	switch {
	case !idForm.MatchString(s.Device):
		return refuse(BadMessage, "device is %q, which is no id", s.Device)
	case s.Counter < 1 || s.Counter > maxInt:
		return refuse(BadMessage, "counter is %d", s.Counter)
	case s.After < 0 || s.After >= s.Counter || s.After > 0 && !ordered:
		return refuse(BadMessage, "after is %d for %s with the counter %d", s.After, s.Kind, s.Counter)
	case decode64(s.Fresh, freshSize) == nil:
		return refuse(BadMessage, "fresh has the wrong form")
	}
	return s.checkDecision()
}

func (s *Statement) checkDecision() error {
	if s.Kind != KindDecide {
		if s.RequestSHA256+s.ArgsSHA256+s.Decision+s.Scope != "" {
			return refuse(BadMessage, "a statement of the kind %s has members of a decision", s.Kind)
		}
		return nil
	}
	switch {
	case s.Decision != "approve" && s.Decision != "deny":
		return refuse(BadMessage, "decision is %q; it must be approve or deny", s.Decision)
	case s.Scope != "once" && s.Scope != "session":
		return refuse(BadMessage, "scope is %q; it must be once or session", s.Scope)
	case !hashForm.MatchString(s.RequestSHA256), s.ArgsSHA256 != "" && !hashForm.MatchString(s.ArgsSHA256):
		return refuse(BadMessage, "request_sha256 or args_sha256 has the wrong form")
	}
	return nil
}
