package seal

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Checker checks statements for a host. It is safe for concurrent use while the roster is not
// changed.
type Checker struct {
	Roster *Roster
	Host   string   // id of this host
	Fresh  FreshKey // of this host
}

// Envelope is what the host knows about a command from its frame, which the relay can change.
type Envelope struct {
	Kind, Run, ID string
	// Request is the open request with the id, for a decision; nil if there is none.
	Request *Request
	Guest   *Guest // that has sent the command, with its grant; nil for a device of the roster
}

// Request is an open request as the host has sent it.
type Request struct {
	SHA256     string // of HashRequest
	ArgsSHA256 string // "" if it has none
	Risk       string // low, medium or high; "" if unknown
}

// DeviceState is the record that a host stores for each device of the roster. The zero value is
// that of a new device. The host deletes it when the device is removed.
type DeviceState struct {
	High int64  `json:"high"` // largest counter that was used
	Used Window `json:"used"`
	// Inputs has for each run the counter of the last input or keys that the host has accepted. The
	// host deletes the runs that have exited.
	Inputs map[string]int64 `json:"inputs,omitempty"`
}

// windowSize is the number of counters, up to the largest one, that a host remembers.
const windowSize = 1024

// Window has a bit for each of the last 1,024 counters, by the counter modulo 1,024. Its JSON is
// base64url.
type Window [windowSize / 8]byte

// MarshalText implements encoding.TextMarshaler.
func (w Window) MarshalText() ([]byte, error) { return []byte(encode64(w[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Window) UnmarshalText(text []byte) error {
	b := decode64(string(text), len(w))
	if b == nil {
		return base64.CorruptInputError(0)
	}
	copy(w[:], b)
	return nil
}

// isUsed reports whether a counter was used, or is too old to know.
func (d *DeviceState) isUsed(counter int64) bool {
	i := counter % windowSize
	return counter <= d.High-windowSize || counter <= d.High && d.Used[i/8]&(1<<(i%8)) != 0
}

// use marks an unused counter.
func (d *DeviceState) use(counter int64) {
	for c := max(d.High, counter-windowSize) + 1; c < counter; c++ {
		d.Used[c%windowSize/8] &^= 1 << (c % 8)
	}
	d.Used[counter%windowSize/8] |= 1 << (counter % 8)
	d.High = max(d.High, counter)
}

// Accepted is a statement that a host may execute. The host uses the decision of the statement and
// the members of Data, and nothing of the frame, which the relay can change.
type Accepted struct {
	Statement *Statement
	Device    Member
	Data      json.RawMessage // of the content
	Signed    Signed          // for the ledger
	// State is the new state of the device. The host stores it before it executes the command, so
	// that a statement is not executed again after a crash.
	State DeviceState
}

// Check checks a command in the order of the table of refusals. state is that of the device which
// DeviceOf returns. Its error is a *Refusal; the state of the device is then unchanged. If the
// refusal has Retry, the host waits up to 5 s for the missing input or roster line, and calls Check
// again.
func (c *Checker) Check(cmd Command, e Envelope, state DeviceState, now time.Time) (*Accepted, error) {
	s, text, err := cmd.read()
	if err != nil {
		return nil, err
	}
	m, err := c.Signer(s, e, now)
	if err != nil {
		return nil, err
	}
	if !m.verifyText(contextCommand, text, cmd.Sig) {
		return nil, refuse(BadSignature, "the signature is not by %s", m.ID)
	}
	form, err := canonical(cmd.Content)
	if err != nil {
		return nil, err
	}
	if hexsum.SHA256(form) != s.ContentSHA256 {
		return nil, refuse(BadSignature, "the content is not that of the statement")
	}
	data, err := readContent(form)
	if err != nil {
		return nil, err
	}
	if s.Account != c.Roster.account || s.Host != c.Host || s.Kind != e.Kind || s.Run != e.Run || s.ID != e.ID {
		return nil, refuse(WrongRequest, "the statement is %s %s for run %q of %s of %s", s.Kind, s.ID, s.Run, s.Host, s.Account)
	}
	if err := state.check(s); err != nil {
		return nil, err
	}
	if err := c.checkAge(s, data, now); err != nil {
		return nil, err
	}
	if s.Kind == KindDecide {
		if err := checkRequest(s, e.Request); err != nil {
			return nil, err
		}
	}
	state.Inputs = maps.Clone(state.Inputs)
	state.use(s.Counter)
	if s.Kind == KindInput || s.Kind == KindKeys {
		if state.Inputs == nil {
			state.Inputs = map[string]int64{}
		}
		state.Inputs[s.Run] = s.Counter
	}
	return &Accepted{s, m, data, Signed{text, cmd.Sig, e.Guest}, state}, nil
}

// DeviceOf returns the id of the device that a command names, before it is verified, or "".
func (c Command) DeviceOf() string {
	s, _, err := c.read()
	if err != nil {
		return ""
	}
	return s.Device
}

// Signer returns the device or guest of a statement. It checks that the roster and its policy, or
// the grant, allow it to send the statement, but not its signature. The error is a *Refusal.
func (c *Checker) Signer(s *Statement, e Envelope, now time.Time) (m Member, err error) {
	r, open := c.Roster, e.Request
	if head := r.Head(); s.Roster.N > head.N {
		f := refuse(RosterFork, "the statement refers to line %d of the roster, and this host has %d lines", s.Roster.N, head.N)
		f.Retry = true
		return Member{}, f
	}
	if e.Guest != nil {
		m, err = r.liveGuest(s, e.Guest, now)
	} else {
		m, err = r.deviceOf(s)
	}
	host, _ := r.Member(c.Host)
	switch {
	case err != nil:
		return Member{}, err
	case host.Kind != Host:
		return Member{}, refuse(Forbidden, "this host, %s, is no member of the account", c.Host)
	case m.Role == Viewer:
		return Member{}, refuse(Forbidden, "device %s has the role viewer", s.Device)
	case open != nil && s.Kind == KindDecide && !r.policy.allows(m.Page, open.Risk):
		return Member{}, refuse(PageNotTrusted, "the policy does not allow the page of device %s to decide this request", s.Device)
	case !r.has(s.Roster):
		return Member{}, refuse(RosterFork, "the device has another line %d of the roster", s.Roster.N)
	}
	return m, nil
}

// deviceOf returns the device that has signed a statement, as of the line that it names and now.
func (r *Roster) deviceOf(s *Statement) (Member, error) {
	m, ok := r.Member(s.Device)
	if then, _ := r.memberAt(s.Device, s.Roster.N); !ok || m.Kind != Device || then != m {
		return Member{}, refuse(UnknownDevice, "%q is no device of the account, or was none at line %d of the roster", s.Device, s.Roster.N)
	}
	return m, nil
}

// check checks that the statement is new, and that no input before it is missing.
func (d *DeviceState) check(s *Statement) error {
	if d.isUsed(s.Counter) {
		return refuse(Replayed, "counter %d of device %s was used", s.Counter, s.Device)
	}
	if last := d.Inputs[s.Run]; s.After != last && (s.Kind == KindInput || s.Kind == KindKeys) {
		f := refuse(Reordered, "the statement follows input %d, and the last one was %d", s.After, last)
		f.Retry = s.After > last
		return f
	}
	return nil
}

func checkRequest(s *Statement, open *Request) error {
	switch {
	case open == nil:
		return refuse(UnknownRequest, "request %s is not open", s.ID)
	case s.RequestSHA256 != open.SHA256:
		return refuse(ArgsChanged, "the statement is for another content of request %s", s.ID)
	case s.ArgsSHA256 != open.ArgsSHA256:
		return refuse(ArgsChanged, "the statement is for other arguments of request %s", s.ID)
	}
	return nil
}

// Maximum ages of statements. Those of input and stop are in their data, as ttl_s.
const (
	maxAgeDecide = 24 * time.Hour
	maxAgeRPC    = 15 * time.Minute
	maxAgeKeys   = time.Minute
	defaultTTL   = 900
	maxTTL       = 86400
)

// checkAge checks the age of the statement's token.
func (c *Checker) checkAge(s *Statement, data json.RawMessage, now time.Time) error {
	oldest := maxAgeKeys
	switch s.Kind {
	case KindDecide:
		oldest = maxAgeDecide
	case KindRPC:
		oldest = maxAgeRPC
	case KindInput, KindStop:
		var d struct {
			TTLS *int64 `json:"ttl_s"`
		}
		ttl := int64(defaultTTL)
		if err := json.Unmarshal(data, &d); err != nil {
			return refuse(BadMessage, "ttl_s: %v", err)
		}
		if d.TTLS != nil {
			ttl = *d.TTLS
		}
		if ttl < 1 || ttl > maxTTL {
			return refuse(BadMessage, "ttl_s is %d; it must be from 1 to %d", ttl, maxTTL)
		}
		oldest = time.Duration(ttl) * time.Second
	}
	age, ok := c.Fresh.age(s.Fresh, now)
	switch {
	case !ok:
		return refuse(Stale, "fresh is not a token of this host, or was issued before the last rotation")
	case age > oldest || age < -clockStep:
		return refuse(Stale, "fresh is %s old; the maximum is %s", age.Round(time.Second), oldest)
	}
	return nil
}
