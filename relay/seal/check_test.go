package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestInputsInOrder delivers three inputs in all orders. Each is accepted after the previous one, a
// missing one is worth a wait, and none is accepted twice.
func TestInputsInOrder(t *testing.T) {
	w := newWorld(t)
	var cmds []Command
	for i := range int64(3) {
		s := w.statement(KindInput)
		s.Counter, s.After = 10+i, 0
		if i > 0 {
			s.After = 9 + i
		}
		cmds = append(cmds, w.sign(s, "phone", `{"text":"a"}`))
	}
	var state DeviceState
	check := func(i int, code Code, retry bool) {
		t.Helper()
		ok, err := w.checker().Check(cmds[i], envelope(KindInput), state, now)
		if got := codeOf(t, err); got != code {
			t.Fatalf("input %d: %v, expected %q", i, err, code)
		}
		if f := (*Refusal)(nil); errors.As(err, &f) && f.Retry != retry {
			t.Errorf("input %d: Retry is %v", i, f.Retry)
		}
		if err != nil {
			return
		}
		text, err := json.Marshal(ok.State) // as the host stores it
		if err != nil {
			t.Fatal(err)
		}
		state = DeviceState{}
		if err := json.Unmarshal(text, &state); err != nil {
			t.Fatal(err)
		}
	}
	check(2, Reordered, true)
	check(1, Reordered, true)
	check(0, "", false)
	check(2, Reordered, true)
	check(0, Replayed, false)
	check(1, "", false)
	check(2, "", false)
	check(1, Replayed, false)
	s := w.statement(KindInput)
	s.Counter, s.After = 20, 10
	cmds[0] = w.sign(s, "phone", `{"text":"b"}`)
	check(0, Reordered, false) // it can never be in order again
}

// TestRefusalDoesNotChangeState checks that an accepted statement changes the state that it
// returns, and not the one that it was checked with.
func TestRefusalDoesNotChangeState(t *testing.T) {
	w := newWorld(t)
	state := DeviceState{Inputs: map[string]int64{}}
	before := string(encode(state))
	cmd := w.sign(w.statement(KindInput), "phone", `{}`)
	ok, err := w.checker().Check(cmd, envelope(KindInput), state, now)
	if err != nil {
		t.Fatal(err)
	}
	if string(encode(state)) != before || ok.State.Inputs["run_1"] != 41 || ok.State.High != 41 {
		t.Errorf("the state is %s, the new state is %s", encode(state), encode(ok.State))
	}
	if string(ok.Signed.Statement) != string(encode(ok.Statement)) || ok.Device.ID != w.ids["phone"] || cmd.DeviceOf() != w.ids["phone"] {
		t.Errorf("accepted %+v", ok)
	}
}

// TestNewerRoster checks that a host with an old roster waits for the lines that a device names.
func TestNewerRoster(t *testing.T) {
	w := newWorld(t)
	old, err := ParseRoster(w.roster.Text(), w.roster.Account(), w.roster.Head())
	if err != nil {
		t.Fatal(err)
	}
	m := NewMember(NewKeys(), w.roster.Account(), Device, "")
	m.User, m.Role, m.Page = "ada", Operator, PageCLI
	line, err := w.roster.AddMember(w.ids["cli"], w.keys["cli"], m, now)
	if err != nil {
		t.Fatal(err)
	}
	w.append(line, nil)
	cmd := w.sign(w.statement(KindStop), "phone", `{}`)
	c := &Checker{old, hostID, w.fresh}
	_, err = c.Check(cmd, envelope(KindStop), DeviceState{}, now)
	if f := (*Refusal)(nil); !errors.As(err, &f) || f.Code != RosterFork || !f.Retry {
		t.Fatal(err)
	}
	if err := old.Append(line); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Check(cmd, envelope(KindStop), DeviceState{}, now); err != nil {
		t.Error(err)
	}
}

// TestCorruptState checks that a state which is not as it was stored is an internal error.
func TestCorruptState(t *testing.T) {
	var d DeviceState
	if err := json.Unmarshal([]byte(`{"high":1,"used":"AAAA"}`), &d); err == nil {
		t.Error("a short window is accepted")
	}
}

// TestRotation checks that a new key of tokens invalidates all earlier statements.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	cmd := w.sign(w.statement(KindStop), "phone", `{}`)
	if _, err := w.checker().Check(cmd, envelope(KindStop), DeviceState{}, now); err != nil {
		t.Fatal(err)
	}
	w.fresh = NewFreshKey()
	if _, err := w.checker().Check(cmd, envelope(KindStop), DeviceState{}, now); codeOf(t, err) != Stale {
		t.Error(err)
	}
}

// TestWindow compares the window of counters with a set of all used ones.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d DeviceState
		used, high := map[int64]bool{}, int64(0)
		for range 200 {
			c := max(1, high+rapid.Int64Range(-1100, 200).Draw(t, "step"))
			if rapid.IntRange(0, 50).Draw(t, "jump") == 0 {
				c = high + rapid.Int64Range(1000, 1_000_000).Draw(t, "far")
			}
			if got, want := d.isUsed(c), used[c] || c <= high-windowSize; got != want {
				t.Fatalf("isUsed(%d) = %v with the largest counter %d", c, got, high)
			}
			if !d.isUsed(c) {
				d.use(c)
				used[c], high = true, max(high, c)
			}
		}
	})
}

// TestSignRefuses checks that a statement of the wrong form is not signed.
func TestSignRefuses(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*Statement){
		"kind": func(s *Statement) { s.Kind = "x" }, "run": func(s *Statement) { s.Run = "" }, "counter": func(s *Statement) { s.Counter = 0 },
		"fresh": func(s *Statement) { s.Fresh = "" }, "decision": func(s *Statement) { s.Decision = "yes" }, "scope": func(s *Statement) { s.Scope = "" },
		"request_sha256": func(s *Statement) { s.RequestSHA256 = "" }, "roster": func(s *Statement) { s.Roster = Position{} }, "host": func(s *Statement) { s.Host = "a b" },
	} {
		s := w.statement(KindDecide)
		change(&s)
		if _, err := s.Sign(w.keys["phone"], json.RawMessage(`{}`), now); codeOf(t, err) != BadMessage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&Refusal{Code: Stale, Why: "old"}).Error(); err != "stale: old" || (Command{}).DeviceOf() != "" {
		t.Error(err)
	}
	for _, data := range []string{``, `null`, `[]`, `{`, `"x"`, `{"a":1e999}`} {
		if _, err := w.statement(KindStop).Sign(w.keys["phone"], json.RawMessage(data), now); codeOf(t, err) != BadMessage {
			t.Errorf("data %s: %v", data, err)
		}
	}
}

// TestKeysAndCodes checks that keys, recovery codes and rosters are read as they were written.
func TestKeysAndCodes(t *testing.T) {
	w := newWorld(t)
	k, err := ParseKeys(w.keys["phone"].Marshal())
	if err != nil || k.Public() != w.keys["phone"].Public() {
		t.Errorf("%v: %v", k, err)
	}
	code, err := ParseRecoveryCode(w.code.String())
	if err != nil || code != w.code {
		t.Errorf("%v: %v", code, err)
	}
	recovered, err := w.roster.RecoveryKeys(code)
	if err != nil || recovered.Public() != w.recovery.Public() {
		t.Errorf("%v: %v", recovered, err)
	}
	r, err := ParseRoster(w.roster.Text(), "", Position{})
	if err != nil || !bytes.Equal(r.Text(), w.roster.Text()) || len(r.Members()) != 5 {
		t.Errorf("%v: %v", r, err)
	}
	if m, ok := r.Member(hostID); !ok || m.Kind != Host || m.User != "ada" {
		t.Errorf("%v %v", m, ok)
	}
}

// TestLocalDecision signs a decision of a process at the host's machine, and verifies it as a
// ledger's record.
func TestLocalDecision(t *testing.T) {
	w := newWorld(t)
	c, err := w.statement(KindDecide).SignLocalFor(w)
	if err != nil {
		t.Fatal(err)
	}
	s, by, err := w.roster.VerifyDecision(c.Signed, now, request().ArgsSHA256)
	if err != nil || s.Local == nil || *s.Local != (Process{UID: 1000, PID: 4242}) || by.Kind != Host {
		t.Errorf("%+v: %v", s, err)
	}
	if _, err := w.checker().Check(c, envelope(KindDecide), DeviceState{}, now); codeOf(t, err) != UnknownDevice {
		t.Errorf("a local decision that the relay delivers: %v", err)
	}
}

// TestHostReturns checks that a host which has lost its keys is added with new keys, after its
// removal.
func TestHostReturns(t *testing.T) {
	w := newWorld(t)
	n := w.roster.Head().N
	old, _ := w.roster.Member(hostID)
	w.append(w.roster.RemoveMember(w.ids["cli"], w.keys["cli"], hostID, now))
	if _, ok := w.roster.Member(hostID); ok {
		t.Error("the host is still a member")
	}
	w.add("host", Host, "", "")
	m, ok := w.roster.Member(hostID)
	if then, was := w.roster.memberAt(hostID, n); !ok || !was || m == old || then != old {
		t.Errorf("the host is %v, at line %d it was %v", m, n, then)
	}
}

// TestSlowClock checks that a member with a slow clock can append a line.
func TestSlowClock(t *testing.T) {
	w := newWorld(t)
	if _, err := w.roster.SetPolicy(w.ids["phone"], w.keys["phone"], Policy{}, start.Add(-time.Hour)); err != nil {
		t.Error(err)
	}
	head := w.roster.Head()
	if _, err := w.roster.SetPolicy(w.ids["guest"], w.keys["guest"], Policy{}, now); codeOf(t, err) != Forbidden || w.roster.Head() != head {
		t.Errorf("%v, and the roster has %d lines", err, w.roster.Head().N)
	}
}

// TestEnrolByLink enrols a device by a link.
func TestEnrolByLink(t *testing.T) {
	w := newWorld(t)
	link := NewLink("https://relay.example/app", w.roster.Account(), "https://relay.example", now.Add(10*time.Minute))
	joined, err := ParseLink(link.String())
	if err != nil {
		t.Fatal(err)
	}
	keys := NewKeys()
	text, err := joined.Reply(NewMember(keys, joined.Account, Device, ""), "tablet", now)
	if err != nil {
		t.Fatal(err)
	}
	m, name, err := link.Accept(text, now)
	if err != nil || name != "tablet" || link.MemberPage() != PageServer {
		t.Fatalf("%q %q %v", name, link.MemberPage(), err)
	}
	m.User, m.Role, m.Page = "ada", Operator, link.MemberPage()
	w.append(w.roster.AddMember(w.ids["cli"], w.keys["cli"], m, now))
	if got, ok := w.roster.Member(keys.Public().DeviceID()); !ok || got != m {
		t.Errorf("%v %v", got, ok)
	}
	if _, err := joined.Reply(m, "tablet", now.Add(time.Hour)); codeOf(t, err) != Expired {
		t.Error(err)
	}
}

// TestEnrolByCode enrols a device by six digits, which are typed wrongly twice.
func TestEnrolByCode(t *testing.T) {
	w := newWorld(t)
	a, j := NewAdder("j_1", w.roster), NewJoiner("j_1", NewKeys(), Device, "", "tablet")
	if _, err := j.Confirm(); codeOf(t, err) != WrongRequest {
		t.Error(err)
	}
	fromAdder, err := a.Reveal(j.Commit())
	if err != nil {
		t.Fatal(err)
	}
	fromJoiner, err := j.Reveal(a.Commit())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reveal(j.Commit()); codeOf(t, err) != WrongRequest {
		t.Errorf("a second commitment: %v", err)
	}
	digits, account, known, err := j.Receive(fromAdder)
	if err != nil || len(digits) != 6 || account != w.roster.Account() || known != w.roster.Head() {
		t.Fatal(digits, account, known, err)
	}
	if name, kind, err := a.Receive(fromJoiner); err != nil || name != "tablet" || kind != Device {
		t.Fatal(name, kind, err)
	}
	confirm, err := j.Confirm()
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Map(func(r rune) rune { return '0' + (r-'0'+1)%10 }, digits)
	for range 2 {
		if err := a.Enter(wrong); codeOf(t, err) != WrongCode {
			t.Error(err)
		}
	}
	if _, err := a.Finish(confirm); codeOf(t, err) != WrongCode {
		t.Error(err)
	}
	if err := a.Enter(digits); err != nil {
		t.Error(err)
	}
	if m, err := a.Finish(confirm); err != nil || m.ID != j.id {
		t.Error(m, err)
	}
	b := NewAdder("j_2", w.roster)
	if err := b.Enter(""); codeOf(t, err) != WrongCode { // before the digits are known
		t.Error(err)
	}
	b = NewAdder("j_2", w.roster)
	for _, code := range []Code{WrongCode, WrongCode, WrongCode, Expired} {
		if err := b.Enter("000000"); codeOf(t, err) != code {
			t.Errorf("%v, expected %s", err, code)
		}
	}
}

// TestRelayBetween has a relay replace both reveals, as it must to enrol keys of its own. The
// digits of the two sides then differ.
func TestRelayBetween(t *testing.T) {
	w, evil := newWorld(t), newWorld(t)
	a, j := NewAdder("j_1", w.roster), NewJoiner("j_1", NewKeys(), Device, "", "tablet")
	evilJ, evilA := NewJoiner("j_1", NewKeys(), Device, "", "tablet"), NewAdder("j_1", evil.roster)
	if _, err := a.Reveal(evilJ.Commit()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Reveal(evilA.Commit()); err != nil {
		t.Fatal(err)
	}
	digits, _, _, err := j.Receive(evilA.reveal)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Receive(evilJ.reveal); err != nil {
		t.Fatal(err)
	}
	if err := a.Enter(digits); codeOf(t, err) != WrongCode {
		t.Error(err)
	}
}
