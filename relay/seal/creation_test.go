package seal

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestSealRefuses checks that texts which no reader would accept are not sealed.
func TestSealRefuses(t *testing.T) {
	w := newWorld(t)
	e, _, last := w.newEpoch(EpochPosition{}, now)
	host, fresh := w.keys["host"], w.fresh.Token(now)
	k := e.RunKey("run_1")
	ts := formatTime(now)
	second := w.sign(w.statement(KindStop), "phone", `{}`)
	sealed, err := e.SealCommand(second)
	if err != nil {
		t.Fatal(err)
	}
	chain := Chain{Seq: 1, Tag: encode64(make([]byte, 16)), SHA256: strings.Repeat("0", 64)}
	epoch := func(by string, last EpochPosition, names map[string]string) error {
		_, _, err := w.roster.NewEpoch(hostID, w.keys[by], last, names, now)
		return err
	}
	event := func(typ, ts, data string) error {
		_, _, err := k.Seal(Event{typ, ts, json.RawMessage(data)}, Chain{})
		return err
	}
	head := func(c Chain, fresh string) error {
		_, _, err := k.SealHead(host, c, fresh, now)
		return err
	}
	gap := func(from int64, reason string) error {
		_, err := k.SealGap(host, from, "", reason, chain, now)
		return err
	}
	history := func(by, to string, epochs ...*Epoch) error {
		_, err := w.roster.NewHistory(w.ids[by], w.keys[by], w.ids[to], epochs)
		return err
	}
	response := func(e *Epoch, s SealedCommand, data string) error {
		_, err := e.SealResponse("run_1", &s, json.RawMessage(data))
		return err
	}
	command := func(e *Epoch, c Command) error {
		_, err := e.SealCommand(c)
		return err
	}
	other := *e
	other.Host = "host_b"
	older := Epoch{Account: e.Account, Host: e.Host, N: 1}
	short := *sealed
	short.CT = "AAAA"
	for name, c := range map[string]struct {
		err  error
		code Code
	}{
		"an epoch": {epoch("host", last, nil), ""}, "an epoch by a device": {epoch("phone", last, nil), BadSignature},
		"an epoch with an empty name":  {epoch("host", last, map[string]string{"a": ""}), BadMessage},
		"an epoch with many names":     {epoch("host", last, map[string]string{"a": strings.Repeat("a", MaxPlaintext)}), BadMessage},
		"an epoch of a shorter roster": {epoch("host", EpochPosition{last.N, last.Hash, 10}, nil), RosterFork},
		"a time with a zone":           {event("run.output", "2026-03-01T15:00:00.000+01:00", `{}`), BadMessage}, "a type in upper case": {event("X", ts, `{}`), BadMessage},
		"an array": {event("run.output", ts, `[]`), BadMessage}, "no JSON": {event("run.output", ts, `{`), BadMessage}, "no data": {event("run.output", ts, ``), BadMessage},
		"a request without id": {event("run.permission_requested", ts, `{}`), BadMessage}, "long data": {event("run.output", ts, `{"a":"`+strings.Repeat("a", MaxPlaintext)+`"}`), BadMessage},
		"a head without events": {head(Chain{}, fresh), BadMessage}, "a head without fresh": {head(chain, ""), BadMessage}, "a head": {head(chain, fresh), ""},
		"a gap": {gap(1, "spool_full"), ""}, "a gap without a reason": {gap(1, ""), BadMessage}, "a gap of later events": {gap(2, "spool_full"), BadMessage},
		"a history": {history("host", "guest", e), ""}, "a history for a removed device": {history("host", "tablet", e), UnknownDevice},
		"a history for a host": {history("host", "host", e), UnknownDevice}, "a history without epochs": {history("host", "guest"), UnknownDevice},
		"a history of two hosts": {history("host", "guest", e, &other), WrongRequest}, "a history of an epoch twice": {history("host", "guest", e, e), BadMessage},
		"a command without a key": {command(&older, second), UnknownDevice}, "a command without a statement": {command(e, Command{}), BadMessage},
		"a response without a key": {response(&older, *sealed, `{}`), UnknownDevice}, "a response to no command": {response(e, SealedCommand{}, `{}`), BadMessage},
		"a response to a short command": {response(e, short, `{}`), BadMessage}, "a response that is no JSON": {response(e, *sealed, `{`), BadMessage},
		"a command in another epoch": {func() error {
			_, err := older.OpenCommand("run_1", KindStop, &SealedCommand{ID: "a", Device: "d", Epoch: 2, CT: sealed.CT})
			return err
		}(), OldEpoch},
	} {
		if got := codeOf(t, c.err); got != c.code {
			t.Errorf("%s: %v, expected %q", name, c.err, c.code)
		}
	}
}

// TestMustEnd checks when an epoch ends, and how long its commands are accepted.
func TestMustEnd(t *testing.T) {
	w := newWorld(t)
	e, _, last := w.newEpoch(EpochPosition{}, now)
	day := 24 * time.Hour
	for _, c := range []struct {
		messages int64
		after    time.Duration
		end      bool
	}{{0, 0, false}, {1<<30 - 1, day - 1, false}, {1 << 30, 0, true}, {0, day, true}} {
		if got := e.MustEnd(w.roster, c.messages, now.Add(c.after)); got != c.end {
			t.Errorf("after %d messages and %s: %v", c.messages, c.after, got)
		}
	}
	w.append(w.roster.SetPolicy(w.ids["cli"], w.keys["cli"], Policy{}, now))
	if e.MustEnd(w.roster, 0, now) {
		t.Error("a policy ends the epoch")
	}
	w.append(w.roster.RemoveMember(w.ids["cli"], w.keys["cli"], w.ids["guest"], now))
	if !e.MustEnd(w.roster, 0, now) {
		t.Error("a removal does not end the epoch")
	}
	next, _, _ := w.newEpoch(last, now.Add(time.Hour))
	epochs := []*Epoch{e, next}
	for _, c := range []struct {
		n     int64
		after time.Duration
		code  Code
	}{{1, time.Hour, ""}, {1, day + time.Hour - 1, ""}, {1, day + time.Hour, OldEpoch}, {2, 99 * day, ""}, {3, 0, OldEpoch}} {
		got, err := CommandEpoch(epochs, c.n, now.Add(c.after))
		if codeOf(t, err) != c.code || err == nil && got.N != c.n {
			t.Errorf("epoch %d after %s: %v", c.n, c.after, err)
		}
	}
	var stored Epoch
	if err := json.Unmarshal(encode(e), &stored); err != nil || string(encode(stored)) != string(encode(e)) || stored.Secret != e.Secret {
		t.Errorf("the epoch is not read as it was stored: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"secret":"AAAA"}`), &stored); err == nil {
		t.Error("a short secret is read")
	}
}
