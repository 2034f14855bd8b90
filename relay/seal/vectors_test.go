package seal

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

var update = flag.Bool("update", false, "rewrite testdata/vectors.json")

// vector is an input of one format, with the code of its refusal or the values that it yields.
type vector struct {
	Name   string         `json:"name"`
	Format string         `json:"format"`
	In     inputs         `json:"in"`
	Code   Code           `json:"code,omitempty"`
	Out    map[string]any `json:"out,omitempty"`
}

// inputs are the inputs of all formats. Times are milliseconds since 1970.
type inputs struct {
	Text       string          `json:"text,omitempty"`
	Roster     string          `json:"roster,omitempty"` // name in vectors.Rosters
	Account    string          `json:"account,omitempty"`
	Known      *Position       `json:"known,omitempty"`
	Recovery   string          `json:"recovery_code,omitempty"`
	Command    *Command        `json:"command,omitempty"`
	Host       string          `json:"host,omitempty"`
	FreshKey   string          `json:"fresh_key,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	Run        string          `json:"run,omitempty"`
	ID         string          `json:"id,omitempty"`
	Request    *vectorRequest  `json:"request,omitempty"`
	State      json.RawMessage `json:"state,omitempty"`
	Now        int64           `json:"now,omitempty"`
	Signed     *Signed         `json:"signed,omitempty"`
	ArgsSHA256 string          `json:"args_sha256,omitempty"`
	Link       string          `json:"link,omitempty"`
	Session    string          `json:"session,omitempty"`
	Messages   []string        `json:"messages,omitempty"`
	To         string          `json:"to,omitempty"`
	Keys       string          `json:"keys,omitempty"` // private keys of To
	KnownEpoch *EpochPosition  `json:"known_epoch,omitempty"`
	Epochs     []*Epoch        `json:"epochs,omitempty"`
	Chain      *Chain          `json:"chain,omitempty"`
	Events     []vectorEvent   `json:"events,omitempty"`
	CT         string          `json:"ct,omitempty"`
	Secret     *Key            `json:"secret,omitempty"`
	Grant      string          `json:"grant,omitempty"`
}

type vectorRequest struct {
	SHA256     string `json:"sha256"`
	ArgsSHA256 string `json:"args_sha256"`
	Risk       string `json:"risk"`
}

type vectors struct {
	Rosters map[string]string `json:"rosters"`
	Cases   []vector          `json:"cases"`
}

// run evaluates the input of a vector with the package.
func (v *vectors) run(in *inputs, format string) (map[string]any, error) {
	at := time.UnixMilli(in.Now)
	switch format {
	case "canonical":
		text, err := canonical([]byte(in.Text))
		if err != nil {
			return nil, err
		}
		sum, err := HashRequest([]byte(in.Text))
		return map[string]any{"text": string(text), "sha256": sum}, err
	case "keys":
		k, err := ParseKeys([]byte(in.Text))
		if err != nil {
			return nil, err
		}
		p := k.Public()
		return map[string]any{"sign_key": p.Sign, "seal_key": p.Seal, "device": p.DeviceID()}, nil
	case "recovery_code":
		c, err := ParseRecoveryCode(in.Text)
		return map[string]any{"bits": hex.EncodeToString(c[:]), "text": c.String()}, err
	case "recovery":
		r, err := ParseRoster([]byte(v.Rosters[in.Roster]), "", Position{})
		if err != nil {
			return nil, err
		}
		c, err := ParseRecoveryCode(in.Recovery)
		if err != nil {
			return nil, err
		}
		k, err := r.RecoveryKeys(c)
		if err != nil {
			return nil, err
		}
		return map[string]any{"keys": string(k.Marshal())}, nil
	case "roster":
		return v.runRoster(in)
	case "command":
		return v.runCommand(in, at)
	case "ledger":
		r, err := ParseRoster([]byte(v.Rosters[in.Roster]), "", Position{})
		if err != nil {
			return nil, err
		}
		s, _, err := r.VerifyDecision(*in.Signed, at, in.ArgsSHA256)
		if err != nil {
			return nil, err
		}
		return map[string]any{"device": s.Device, "local": s.Local != nil, "decision": s.Decision}, nil
	case "link":
		l, err := ParseLink(in.Text)
		if err != nil {
			return nil, err
		}
		return map[string]any{"page": l.Page, "account": l.Account, "session": l.Session, "secret": encode64(l.Secret),
			"expires": l.Expires.Unix(), "server": l.Server, "member_page": l.MemberPage()}, nil
	case "reply":
		l, err := ParseLink(in.Link)
		if err != nil {
			return nil, err
		}
		m, name, err := l.Accept([]byte(in.Text), at)
		return map[string]any{"id": m.ID, "kind": m.Kind, "name": name}, err
	case "digits":
		return v.runDigits(in)
	}
	return v.runSealed(in, format)
}

func (v *vectors) runRoster(in *inputs) (map[string]any, error) {
	text, known := v.Rosters[in.Roster]+in.Text, Position{}
	if in.Known != nil {
		known = *in.Known
	}
	r, err := ParseRoster([]byte(text), in.Account, known)
	if err != nil {
		return nil, err
	}
	ids := []any{}
	for _, m := range r.Members() {
		ids = append(ids, m.ID)
	}
	return map[string]any{"account": r.Account(), "n": r.Head().N, "hash": r.Head().Hash, "members": ids}, nil
}

func (v *vectors) runCommand(in *inputs, at time.Time) (map[string]any, error) {
	r, err := ParseRoster([]byte(v.Rosters[in.Roster]), "", Position{})
	if err != nil {
		return nil, err
	}
	c := &Checker{Roster: r, Host: in.Host}
	copy(c.Fresh[:], decode64(in.FreshKey, 32))
	var state DeviceState
	if in.State != nil {
		if err := json.Unmarshal(in.State, &state); err != nil {
			return nil, err
		}
	}
	e := Envelope{Kind: in.Kind, Run: in.Run, ID: in.ID}
	if in.Request != nil {
		e.Request = (*Request)(in.Request)
	}
	ok, err := c.Check(*in.Command, e, state, at)
	if err != nil {
		return nil, err
	}
	return map[string]any{"device": ok.Device.ID, "data": string(ok.Data), "state": string(encode(ok.State))}, nil
}

// runDigits plays both sides of an enrolment with recorded messages: the commitments and reveals of
// the adding and the joining side, and the confirmation.
func (v *vectors) runDigits(in *inputs) (map[string]any, error) {
	m := make([][]byte, len(in.Messages))
	for i := range m {
		m[i] = []byte(in.Messages[i])
	}
	add := &Adder{commitment: commitment{session: in.Session, side: sideAdd, reveal: m[2]}, account: in.Account}
	join := &Joiner{commitment: commitment{session: in.Session, side: sideJoin, reveal: m[3]}}
	if _, err := add.Reveal(m[1]); err != nil {
		return nil, err
	}
	if _, err := join.Reveal(m[0]); err != nil {
		return nil, err
	}
	digits, account, known, err := join.Receive(m[2])
	if err != nil {
		return nil, err
	}
	name, _, err := add.Receive(m[3])
	if err != nil {
		return nil, err
	}
	if err := add.Enter(digits); err != nil {
		return nil, err
	}
	member, err := add.Finish(m[4])
	return map[string]any{"digits": digits, "account": account, "n": known.N, "name": name, "id": member.ID}, err
}

const vectorsFile = "testdata/vectors.json"

// TestVectors checks each vector. With -update it first writes new ones, which are always the same
// for one version of Go.
func TestVectors(t *testing.T) {
	if *update {
		cryptotest.SetGlobalRandom(t, 1)
		v := newVectors(t)
		for i := range v.Cases {
			c := &v.Cases[i]
			out, err := v.run(&c.In, c.Format)
			if got := codeOf(t, err); got != c.Code {
				t.Errorf("%s: %v, expected %q", c.Name, err, c.Code)
			}
			if err == nil {
				c.Out = out
			}
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorsFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := readVectors(t)
	invalid, formats := 0, map[string]bool{}
	for _, c := range v.Cases {
		out, err := v.run(&c.In, c.Format)
		formats[c.Format] = true
		if c.Code != "" {
			invalid++
		}
		if got := codeOf(t, err); got != c.Code {
			t.Errorf("%s: %v, expected %q", c.Name, err, c.Code)
		} else if err == nil && !sameJSON(out, c.Out) {
			t.Errorf("%s: got %s, expected %s", c.Name, jsonwrite.MustEncode(out), jsonwrite.MustEncode(c.Out))
		}
	}
	if len(formats) != 21 || invalid < 240 {
		t.Errorf("the vectors have %d formats and %d invalid cases", len(formats), invalid)
	}
}

func readVectors(t testing.TB) *vectors {
	t.Helper()
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	v := &vectors{}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
	return v
}

func sameJSON(a, b any) bool { return bytes.Equal(encode(a), encode(b)) }

func (v *vectors) add(format, name string, code Code, in inputs) {
	v.Cases = append(v.Cases, vector{Name: format + ": " + name, Format: format, In: in, Code: code})
}

// newVectors creates all vectors, without their outputs.
func newVectors(t *testing.T) *vectors {
	w := newWorld(t)
	v := &vectors{Rosters: map[string]string{"main": string(w.roster.Text())}}
	v.addCanonical()
	v.addKeys(w)
	v.addRecovery(w)
	v.addRosters(w)
	v.addCommands(w)
	v.addLedger(w)
	v.addLinks(w)
	v.addDigits(w)
	v.addSealed(w)
	return v
}

func (v *vectors) addCanonical() {
	for i, text := range []string{`{"b":[1,2.50,-0,1e21,1E-7],"a":"\u00e9\u2028</\"\\\n"}`, ` [ 9007199254740993 , 0.1e1 ] `,
		`{"\ufb33":1,"\ud83d\ude00":2,"":{"z":null,"y":true}}`, `{"a":1,"a":2}`, `[5e-324,1.7976931348623157e308,100000000000000000000.0]`} {
		v.add("canonical", fmt.Sprint(i+1), "", inputs{Text: text})
	}
	v.add("canonical", "no JSON", BadMessage, inputs{Text: `{"a":}`})
	v.add("canonical", "two values", BadMessage, inputs{Text: `1 2`})
	v.add("canonical", "number out of range", BadMessage, inputs{Text: `[1e999]`})
}

func (v *vectors) addKeys(w *world) {
	text := string(w.keys["phone"].Marshal())
	v.add("keys", "a phone's", "", inputs{Text: text})
	v.add("keys", "a space", BadMessage, inputs{Text: strings.Replace(text, ":", ": ", 1)})
	v.add("keys", "version 2", Unsupported, inputs{Text: strings.Replace(text, `"v":1`, `"v":2`, 1)})
	v.add("keys", "the scalar 0", BadMessage, inputs{Text: string(encode(storedKeys{1, encode64(make([]byte, 32)), encode64(w.keys["phone"].seal.Bytes())}))})
	v.add("keys", "the order of the curve", BadMessage, inputs{Text: string(encode(storedKeys{1,
		encode64(bytes.Repeat([]byte{0xff}, 32)), encode64(w.keys["phone"].seal.Bytes())}))})
	v.add("keys", "the seal_key 0", BadMessage, inputs{Text: string(encode(storedKeys{1, encode64(w.keys["phone"].scalars()[:32]), encode64(make([]byte, 32))}))})
	v.add("keys", "no scalars", BadMessage, inputs{Text: string(encode(storedKeys{V: 1}))})
	v.add("keys", "31 bytes", BadMessage, inputs{Text: string(encode(storedKeys{1, encode64(make([]byte, 31)), encode64(w.keys["phone"].seal.Bytes())}))})
}

func (v *vectors) addRecovery(w *world) {
	text := w.code.String()
	v.add("recovery_code", "as printed", "", inputs{Text: text})
	v.add("recovery_code", "lower case and spaces", "", inputs{Text: " " + strings.ReplaceAll(strings.ToLower(text), "-", " ")})
	v.add("recovery_code", "zeros", "", inputs{Text: RecoveryCode{}.String()})
	v.add("recovery_code", "O and L for 0 and 1", "", inputs{Text: strings.NewReplacer("0", "O", "1", "l").Replace(RecoveryCode{8: 1}.String())})
	other := "0"
	if text[0] == '0' {
		other = "1"
	}
	v.add("recovery_code", "a wrong letter", BadMessage, inputs{Text: other + text[1:]})
	v.add("recovery_code", "two letters swapped", BadMessage, inputs{Text: swapLetters(text)})
	v.add("recovery_code", "the letter U", BadMessage, inputs{Text: "U" + text[1:]})
	v.add("recovery_code", "too short", BadMessage, inputs{Text: text[1:]})
	v.add("recovery_code", "too long", BadMessage, inputs{Text: text + "7"})
	v.add("recovery", "the account's code", "", inputs{Roster: "main", Recovery: text})
	v.add("recovery", "another code", WrongCode, inputs{Roster: "main", Recovery: RecoveryCode{1}.String()})
}

// swapLetters swaps the first two neighbours that differ.
func swapLetters(text string) string {
	for i := 1; i < len(text); i++ {
		if a, b := text[i-1], text[i]; a != b && a != '-' && b != '-' {
			return text[:i-1] + string([]byte{b, a}) + text[i+1:]
		}
	}
	return text
}

func (v *vectors) addRosters(w *world) {
	main := v.Rosters["main"]
	lines := strings.SplitAfter(main, "\n")
	v.add("roster", "whole", "", inputs{Roster: "main"})
	v.add("roster", "whole, of a known account and position", "", inputs{Roster: "main", Account: w.roster.Account(), Known: &Position{7, w.roster.hashes[6]}})
	v.add("roster", "genesis only", "", inputs{Text: lines[0]})
	v.add("roster", "a line twice", "", inputs{Roster: "main", Text: lines[3]})
	head := w.roster.Head()
	v.add("roster", "rollback", RosterFork, inputs{Text: strings.Join(lines[:8], ""), Known: &head})
	v.add("roster", "another line at a known n", RosterFork, inputs{Roster: "main", Known: &Position{7, w.roster.hashes[5]}})
	v.add("roster", "another account", WrongRequest, inputs{Roster: "main", Account: "a_other"})
	v.add("roster", "empty", BadMessage, inputs{})
	v.add("roster", "without genesis", BadMessage, inputs{Text: strings.Join(lines[1:], "")})
	v.add("roster", "a missing line", BadMessage, inputs{Text: lines[0] + lines[1] + lines[3]})
	v.add("roster", "an empty line", BadMessage, inputs{Text: lines[0] + "\n" + lines[1]})
	v.add("roster", "a space", BadMessage, inputs{Text: strings.Replace(lines[0], ":", ": ", 1)})
	v.add("roster", "a duplicate member", BadMessage, inputs{Text: strings.Replace(lines[0], `"v":1`, `"v":1,"v":1`, 1)})
	v.add("roster", "an unknown member", BadMessage, inputs{Text: strings.Replace(lines[0], `"v":1`, `"v":1,"w":1`, 1)})
	v.add("roster", "a changed member of the genesis", BadSignature, inputs{Text: strings.Replace(lines[0], "2026-", "2027-", 1)})
	v.add("roster", "a changed line", BadSignature, inputs{Text: lines[0] + strings.Replace(lines[1], `"ada"`, `"eve"`, 1)})
	v.add("roster", "a changed role", BadSignature, inputs{Text: lines[0] + lines[1] + lines[2] + lines[3] + strings.Replace(lines[4], `"operator"`, `"owner"`, 1)})

	genesis := func(name string, code Code, change func(*line, *genesisBody)) {
		l := line{V: 1, N: 1, At: formatTime(start), Kind: kindGenesis, By: ByRecovery}
		b := genesisBody{1, encryptRecovery(w.recovery, w.code)}
		change(&l, &b)
		if l.Body == nil {
			l.Body = encode(b)
		}
		v.add("roster", "genesis with "+name, code, inputs{Text: string(l.sign(w.recovery)) + "\n"})
	}
	genesis("nothing changed", "", func(*line, *genesisBody) {})
	genesis("the kind add", BadMessage, func(l *line, _ *genesisBody) { l.Kind = kindAdd })
	genesis("n 2", BadMessage, func(l *line, _ *genesisBody) { l.N = 2 })
	genesis("n 0", BadMessage, func(l *line, _ *genesisBody) { l.N = 0 })
	genesis("an account", BadMessage, func(l *line, _ *genesisBody) { l.Account = w.roster.Account() })
	genesis("prev", BadMessage, func(l *line, _ *genesisBody) { l.Prev = w.roster.hashes[0] })
	genesis("another signer", BadMessage, func(l *line, _ *genesisBody) { l.By = w.ids["cli"] })
	genesis("suite 2", Unsupported, func(_ *line, b *genesisBody) { b.Suite = 2 })
	genesis("a short private part", BadMessage, func(_ *line, b *genesisBody) { b.Recovery.Private = encode64(make([]byte, 91)) })
	genesis("a sign_key that is no point", BadMessage, func(_ *line, b *genesisBody) { b.Recovery.Sign = "BAAA" })
	genesis("a seal_key that is no point", BadMessage, func(_ *line, b *genesisBody) { b.Recovery.Seal = "BAAA" })
	genesis("another sign_key", BadSignature, func(_ *line, b *genesisBody) { b.Recovery.Sign = w.keys["cli"].Public().Sign })
	genesis("an unknown member", BadMessage, func(l *line, b *genesisBody) { l.Body = append([]byte(`{"a":1,`), encode(b)[1:]...) })
	cli, phone := w.ids["cli"], w.ids["phone"]
	next := func(name string, code Code, l line, by string) {
		k := w.recovery
		if by != ByRecovery {
			k = w.keys[by]
		}
		if l.By == "" {
			l.By = w.ids[by]
		}
		v.add("roster", name, code, inputs{Roster: "main", Text: string(w.line(l, k)) + "\n"})
	}
	member := func(change func(*Member)) json.RawMessage {
		m := NewMember(NewKeys(), w.roster.Account(), Device, "")
		m.User, m.Role, m.Page = "bob", Viewer, PageServer
		change(&m)
		return encode(m)
	}
	plain := member(func(*Member) {})
	next("add by an owner", "", line{Kind: kindAdd, Body: plain}, "phone")
	next("add by the recovery key", "", line{Kind: kindAdd, Body: plain, By: ByRecovery}, ByRecovery)
	next("an owner removes itself", "", line{Kind: kindRemove, Body: encode(removeBody{phone})}, "phone")
	next("add by an operator", Forbidden, line{Kind: kindAdd, Body: plain}, "browser")
	next("add by a viewer", Forbidden, line{Kind: kindAdd, Body: plain}, "guest")
	next("add by a host", Forbidden, line{Kind: kindAdd, Body: plain}, "host")
	next("add by a removed device", UnknownDevice, line{Kind: kindAdd, Body: plain}, "tablet")
	next("add by an unknown device", UnknownDevice, line{Kind: kindAdd, Body: plain, By: "d_other"}, "cli")
	next("signed by another owner", BadSignature, line{Kind: kindAdd, Body: plain, By: cli}, "phone")
	next("signed by a member in the name of the recovery key", BadSignature, line{Kind: kindAdd, Body: plain, By: ByRecovery}, "cli")
	next("for another account", WrongRequest, line{Account: "a_other", Kind: kindAdd, Body: plain}, "cli")
	next("prev of another line", RosterFork, line{Prev: w.roster.hashes[3], Kind: kindAdd, Body: plain}, "cli")
	next("another line at an earlier n", RosterFork, line{N: 5, Prev: w.roster.hashes[3], Kind: kindAdd, Body: plain}, "cli")
	next("a second genesis", RosterFork, line{N: 1, Kind: kindGenesis, Body: plain, By: ByRecovery}, ByRecovery)
	next("a genesis in the middle", BadMessage, line{Kind: kindGenesis, Body: plain, By: ByRecovery}, ByRecovery)
	next("n after the next", BadMessage, line{N: w.roster.Head().N + 2, Kind: kindAdd, Body: plain}, "cli")
	next("version 2", BadMessage, line{V: 2, Kind: kindAdd, Body: plain}, "cli")
	next("a time before the previous line", BadMessage, line{At: formatTime(start), Kind: kindAdd, Body: plain}, "cli")
	next("a time with a zone", BadMessage, line{At: "2026-03-01T15:00:00.000+01:00", Kind: kindAdd, Body: plain}, "cli")
	next("a grant", Unsupported, line{Kind: "grant", Body: json.RawMessage(`{}`)}, "cli")
	next("an end", Unsupported, line{Kind: "end", Body: json.RawMessage(`{}`)}, "cli")
	next("an unknown kind", Unsupported, line{Kind: "rename", Body: json.RawMessage(`{}`)}, "cli")
	next("remove of a removed device", UnknownDevice, line{Kind: kindRemove, Body: encode(removeBody{w.ids["tablet"]})}, "cli")
	next("a policy with an unknown level", BadMessage, line{Kind: kindPolicy, Body: json.RawMessage(`{"decide":{"high":"none"}}`)}, "cli")
	next("a policy with an unknown risk", BadMessage, line{Kind: kindPolicy, Body: json.RawMessage(`{"decide":{"huge":"pinned"}}`)}, "cli")
	other := NewMember(NewKeys(), "a_other", Device, "")
	next("own_sig for another account", BadSignature, line{Kind: kindAdd, Body: member(func(m *Member) { m.PublicKeys, m.ID, m.OwnSig = other.PublicKeys, other.ID, other.OwnSig })}, "cli")
	next("own_sig by another key", BadSignature, line{Kind: kindAdd, Body: member(func(m *Member) { m.OwnSig = other.OwnSig })}, "cli")
	next("another seal_key", BadSignature, line{Kind: kindAdd, Body: member(func(m *Member) { m.Seal = other.Seal })}, "cli")
	next("an id of other keys", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.ID = other.ID })}, "cli")
	next("a key that is no point", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.Seal = encode64(bytes.Repeat([]byte{4}, 65)) })}, "cli")
	next("a compressed point", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.Seal = encode64(append([]byte{2}, decode64(m.Seal, 65)[1:33]...)) })}, "cli")
	next("an unknown role", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.Role = "admin" })}, "cli")
	next("a page with a path", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.Page = "https://pages.example/x" })}, "cli")
	next("an empty user", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.User = "" })}, "cli")
	next("a user with a control character", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.User = "a\u202eb" })}, "cli")
	next("a sign_key that is no point", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.Sign = encode64(bytes.Repeat([]byte{4}, 65)) })}, "cli")
	next("one key twice", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.Seal = m.Sign })}, "cli")
	next("add with another member", BadMessage, line{Kind: kindAdd, Body: append([]byte(`{"a":1,`), plain[1:]...)}, "cli")
	next("add without a user", BadMessage, line{Kind: kindAdd, Body: bytes.Replace(plain, []byte(`,"user":"bob"`), nil, 1)}, "cli")
	next("a user of 201 bytes", BadMessage, line{Kind: kindAdd, Body: member(func(m *Member) { m.User = strings.Repeat("a", 201) })}, "cli")
	reused := func(name string, keys *Keys) {
		m := NewMember(keys, w.roster.Account(), Device, "")
		m.User, m.Role, m.Page = "ada", Viewer, PageCLI
		next(name, BadMessage, line{Kind: kindAdd, Body: encode(m)}, "cli")
	}
	reused("the sign_key of a removed device", &Keys{w.keys["tablet"].sign, NewKeys().seal})
	reused("the seal_key of another device", &Keys{NewKeys().sign, w.keys["phone"].seal})
	reused("the recovery key", &Keys{w.recovery.sign, NewKeys().seal})
	next("remove with another member", BadMessage, line{Kind: kindRemove, Body: json.RawMessage(`{"id":"d_a","why":"lost"}`)}, "cli")
	next("remove without an id", BadMessage, line{Kind: kindRemove, Body: json.RawMessage(`{}`)}, "cli")
	server := NewMember(NewKeys(), w.roster.Account(), Host, "host_b")
	server.User, server.Page = "ada", PageCLI
	next("a host with a page", BadMessage, line{Kind: kindAdd, Body: encode(server)}, "cli")
	again := NewMember(w.keys["tablet"], w.roster.Account(), Device, "")
	again.User, again.Role, again.Page = "ada", Owner, PageCLI
	next("a removed device again", BadMessage, line{Kind: kindAdd, Body: encode(again)}, "cli")
	again = NewMember(NewKeys(), w.roster.Account(), Host, hostID)
	again.User = "ada"
	next("a host twice", BadMessage, line{Kind: kindAdd, Body: encode(again)}, "cli")
	again.ID, again.Role = "host_b", Owner
	again.OwnSig = ""
	next("a host with a role", BadSignature, line{Kind: kindAdd, Body: encode(again)}, "cli")
}
