package seal

import (
	"encoding/json"
	"testing"
	"time"
)

// start is the time at which the accounts of tests are created.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is an account with a command line and a phone of an owner, an operator's page of the relay,
// a viewer, a removed tablet, and a host.
type world struct {
	t        testing.TB
	roster   *Roster
	code     RecoveryCode
	recovery *Keys
	keys     map[string]*Keys // by the name of the member
	ids      map[string]string
	fresh    FreshKey
}

const hostID = "host_mbp"

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, keys: map[string]*Keys{}, ids: map[string]string{}, code: NewRecoveryCode(), fresh: NewFreshKey()}
	w.roster, w.recovery = NewAccount(w.code, start)
	w.add("cli", Device, Owner, PageCLI)
	w.add("host", Host, "", "")
	w.add("phone", Device, Owner, "https://pages.example")
	w.add("browser", Device, Operator, PageServer)
	w.add("guest", Device, Viewer, PageServer)
	w.add("tablet", Device, Operator, PageServer)
	w.append(w.roster.RemoveMember(w.ids["phone"], w.keys["phone"], w.ids["tablet"], start.Add(time.Hour)))
	w.append(w.roster.SetPolicy(w.ids["cli"], w.keys["cli"], Policy{PolicyLevels{Low: "any", High: "pinned"}}, start.Add(time.Hour)))
	return w
}

func (w *world) add(name, kind, role, page string) {
	w.t.Helper()
	w.keys[name] = NewKeys()
	m := NewMember(w.keys[name], w.roster.Account(), kind, hostID)
	m.User, m.Role, m.Page = "ada", role, page
	w.ids[name] = m.ID
	by, k := ByRecovery, w.recovery
	if name != "cli" {
		by, k = w.ids["cli"], w.keys["cli"]
	}
	w.append(w.roster.AddMember(by, k, m, start.Add(time.Minute)))
}

func (w *world) append(line []byte, err error) {
	w.t.Helper()
	if err == nil {
		err = w.roster.Append(line)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) checker() *Checker { return &Checker{w.roster, hostID, w.fresh} }

// now is the time at which the commands of tests are checked.
var now = start.Add(2 * time.Hour)

var openRequest = json.RawMessage(`{"request_id":"req_1","prompt":"rm -r build?","op_args":{"path":"build"},"risk":"low"}`)

// request is the open request of tests.
func request() *Request {
	sum, err := HashRequest(openRequest)
	if err != nil {
		panic(err)
	}
	args, err := HashRequest(json.RawMessage(`{"path":"build"}`))
	if err != nil {
		panic(err)
	}
	return &Request{SHA256: sum, ArgsSHA256: args, Risk: "low"}
}

// statement returns a statement of the given kind that is valid in the world.
func (w *world) statement(kind string) Statement {
	s := Statement{Account: w.roster.Account(), Host: hostID, Run: "run_1", Kind: kind, ID: "req_1", Counter: 41,
		Fresh: w.fresh.Token(now.Add(-time.Second)), Roster: w.roster.Head()}
	if kind == KindDecide {
		r := request()
		s.RequestSHA256, s.ArgsSHA256, s.Decision, s.Scope = r.SHA256, r.ArgsSHA256, "approve", "once"
	}
	return s
}

func (w *world) sign(s Statement, by string, data string) Command {
	w.t.Helper()
	c, err := s.Sign(w.keys[by], json.RawMessage(data), now)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func envelope(kind string) Envelope {
	e := Envelope{Kind: kind, Run: "run_1", ID: "req_1"}
	if kind == KindDecide {
		e.Request = request()
	}
	return e
}

// codeOf returns the code of a refusal, or "" for nil.
func codeOf(t testing.TB, err error) Code {
	t.Helper()
	if err == nil {
		return ""
	}
	r, ok := err.(*Refusal)
	if !ok {
		t.Fatalf("error %T is no refusal: %v", err, err)
	}
	return r.Code
}

func (w *world) line(l line, k *Keys) []byte {
	if l.V == 0 {
		l.V = 1
	}
	if l.At == "" {
		l.At = formatTime(now)
	}
	if l.N == 0 {
		l.N = w.roster.Head().N + 1
	}
	if l.Prev == "" {
		l.Prev = w.roster.Head().Hash
	}
	if l.Account == "" {
		l.Account = w.roster.Account()
	}
	return l.sign(k)
}
