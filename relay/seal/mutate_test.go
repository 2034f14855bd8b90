package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// leaves calls f with a path and a setter for each value in a JSON object that is no object itself.
func leaves(path string, o map[string]any, f func(path string, old any, set func(any))) {
	for name, v := range o {
		if inner, ok := v.(map[string]any); ok {
			leaves(path+name+".", inner, f)
			continue
		}
		f(path+name, v, func(to any) { o[name] = to })
	}
}

// mutations returns other values for a member: some of the same form, and some of another form.
func mutations(r *rand.Rand, old any) (same, other []any) {
	switch x := old.(type) {
	case float64:
		return []any{x + 1, float64(1 + r.Int64N(maxInt)), 7.0}, []any{x + 0.5, -x, fmt.Sprint(x), nil, true, 1e300}
	case string:
		if x == "" {
			return []any{"a"}, []any{nil, 0}
		}
		b := []byte(x)
		i := r.IntN(len(b))
		for b[i] < '0' || b[i] > 'z' || b[i] == '_' || b[i] == ':' {
			i = (i + 1) % len(b)
		}
		switch c := b[i]; c { // the next one of the digits, a to f, g to z, or A to Z
		case '9', 'f', 'z', 'Z':
			b[i] = map[byte]byte{'9': '0', 'f': 'a', 'z': 'g', 'Z': 'A'}[c]
		default:
			b[i]++
		}
		return []any{string(b)}, []any{x + " ", "", x + "\n", nil, 5, []any{x}, x + x + "é", "\u0000"}
	}
	return nil, []any{nil, "", 0}
}

// mutateText returns all mutations of a JSON text, in canonical form. Each has the path of the
// member that is changed. isWrong reports that it has another form than required.
func mutateText(t *testing.T, r *rand.Rand, text []byte, f func(path string, isWrong bool, text []byte)) {
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	leaves("", o, func(path string, old any, set func(any)) {
		same, other := mutations(r, old)
		for i, v := range append(same, other...) {
			if set(v); !bytes.Equal(encode(o), text) {
				f(path, i >= len(same), encode(o))
			}
			set(old)
		}
	})
	for name, v := range o {
		delete(o, name)
		f(name, true, encode(o))
		o[name] = v
	}
	o["more"] = 1
	f("more", true, encode(o))
}

// TestMutatedStatements changes each member of valid statements, which are not signed again. None
// may be accepted. A value with the right form has the code of the first check that reads it.
func TestMutatedStatements(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(3, 4))
	first := map[string]string{
		"v": "unsupported", "kind": "bad_message", "decision": "bad_message", "scope": "bad_message", "at": "bad_message bad_signature",
		"device": "unknown_device", "roster.n": "roster_fork", "roster.hash": "roster_fork bad_message", "fresh": "bad_signature bad_message",
		"after": "bad_signature bad_message", "counter": "bad_signature bad_message",
		"content_sha256": "bad_signature bad_message", "request_sha256": "bad_signature bad_message", "args_sha256": "bad_signature bad_message",
	}
	n := 0
	for _, kind := range kinds {
		s := w.statement(kind)
		state := DeviceState{}
		if kind == KindInput {
			s.After, state.Inputs = 38, map[string]int64{"run_1": 38}
		}
		cmd := w.sign(s, "phone", `{"text":"a"}`)
		if _, err := w.checker().Check(cmd, envelope(kind), state, now); err != nil {
			t.Fatal(err)
		}
		mutateText(t, r, cmd.Statement, func(path string, isWrong bool, text []byte) {
			n++
			c := cmd
			c.Statement = text
			_, err := w.checker().Check(c, envelope(kind), state, now)
			code := string(codeOf(t, err))
			expected := first[path]
			if expected == "" {
				expected = "bad_signature"
			}
			if isWrong { // a value may be in the form of another one
				expected += " bad_message bad_signature unsupported"
			}
			if code == "" || !strings.Contains(expected, code) {
				t.Errorf("%s: %s has the code %q, expected %s\n%s", kind, path, code, expected, text)
			}
		})
		mutateText(t, r, cmd.Content, func(path string, _ bool, text []byte) {
			n++
			c := cmd
			c.Content = text
			if _, err := w.checker().Check(c, envelope(kind), state, now); codeOf(t, err) != BadSignature {
				t.Errorf("%s: content %s: %v", kind, path, err)
			}
		})
		for i := range cmd.Sig {
			n++
			c := cmd
			b := []byte(cmd.Sig)
			b[i] = "AQgw"[r.IntN(4)]
			if c.Sig = string(b); c.Sig == cmd.Sig {
				continue
			}
			if _, err := w.checker().Check(c, envelope(kind), state, now); codeOf(t, err) != BadSignature {
				t.Errorf("%s: letter %d of the signature: %v", kind, i, err)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d mutations", n)
	}
}

// TestMutatedLines changes each member of each line of a roster. No mutated line may be accepted.
func TestMutatedLines(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(5, 6))
	n := 0
	before := &Roster{}
	for i, l := range w.roster.lines {
		mutateText(t, r, l, func(path string, isWrong bool, text []byte) {
			n++
			mutated := *before
			mutated.members = slices.Clone(before.members)
			err := mutated.Append(text)
			code := codeOf(t, err)
			allowed := []Code{BadSignature, BadMessage}
			switch {
			case isWrong:
				allowed = append(allowed, WrongRequest, RosterFork, UnknownDevice, Unsupported, Forbidden)
			case path == "account" && i > 0:
				allowed = []Code{WrongRequest}
			case path == "prev" && i > 0:
				allowed = []Code{RosterFork}
			case path == "by" && i > 0:
				allowed = []Code{UnknownDevice}
			case path == "n" && i > 0:
				allowed = []Code{RosterFork, BadMessage, WrongRequest}
			case path == "body.suite":
				allowed = []Code{Unsupported}
			}
			if !slices.Contains(allowed, code) {
				t.Errorf("line %d: %s has the code %q, expected %v\n%s", i+1, path, code, allowed, text)
			}
		})
		if err := before.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	if n < 1000 {
		t.Errorf("only %d mutations", n)
	}
}

// TestRosterPrefixes checks that each shorter roster, and each with a line that is missing, is
// refused by a member that knows the newest position.
func TestRosterPrefixes(t *testing.T) {
	w := newWorld(t)
	for i := range w.roster.lines {
		if _, err := ParseRoster(bytes.Join(w.roster.lines[:i+1], []byte("\n")), w.roster.Account(), w.roster.Head()); i+1 < len(w.roster.lines) && codeOf(t, err) != RosterFork {
			t.Errorf("%d lines: %v", i+1, err)
		}
		missing := append(append([][]byte{}, w.roster.lines[:i]...), w.roster.lines[i+1:]...)
		if _, err := ParseRoster(bytes.Join(missing, []byte("\n")), w.roster.Account(), w.roster.Head()); err == nil {
			t.Errorf("a roster without line %d is accepted", i+1)
		}
	}
}
