package decision

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	once, no := Decision{Allow: true, Scope: Once}, Decision{}
	because := func(reason string) Decision { return Decision{Reason: reason} }
	for in, want := range map[string]Decision{
		`true`: once, `"yes"`: once, `"Y"`: once, `" OK. "`: once, `"okay!"`: once, `"allow"`: once, `"approve"`: once,
		`"approved"`: once, `"Accept!!"`: once, `"once"`: once, `"TRUE"`: once, `"yes !"`: once,
		`"session"`: {Allow: true, Scope: Session}, `"Always."`: {Allow: true, Scope: Always},
		`false`: no, `"no"`: no, `"N"`: no, `"deny"`: no, `"Denied."`: no, `"reject"`: no, `"rejected"`: no, `"decline"`: no, `"false"`: no,
		`""`: no, `" \n"`: no, ``: no,
		`"not yet"`: because("not yet"), `"yes, but carefully"`: because("yes, but carefully"), `"yes?"`: because("yes?"),
		`null`: because("not a decision: null"), `1`: because("not a decision: 1"), `["yes"]`: because(`not a decision: ["yes"]`),
		`"cut`:                                                because(`not a decision: "cut`),
		`{}`:                                                  because(`not a decision: {}`),
		`{"approved":true}`:                                   because(`not a decision: {"approved":true}`),
		`{"decision":"maybe"}`:                                because(`not a decision: {"decision":"maybe"}`),
		`{"decision":true}`:                                   because(`not a decision: {"decision":true}`),
		`{"decision":"allow","scope":"forever"}`:              because(`not a decision: {"decision":"allow","scope":"forever"}`),
		`{"decision":"allow","stop":"no"}`:                    because(`not a decision: {"decision":"allow","stop":"no"}`),
		`{"decision":"allow"`:                                 because(`not a decision: {"decision":"allow"`),
		`{"decision":"allow"}`:                                once,
		`{"decision":"allow","toolUse":1}`:                    once,
		`{"Decision":"allow"}`:                                because(`not a decision: {"Decision":"allow"}`),
		`{"decision":"deny","DECISION":"allow"}`:              because(`not a decision: {"decision":"deny","DECISION":"allow"}`),
		`{"decision":"deny","decision":"allow"}`:              because(`not a decision: {"decision":"deny","decision":"allow"}`),
		`{"decision":"allow","scope":null,"input":null}`:      once,
		`{"decision":"allow","scope":"always","option":"o1"}`: {Allow: true, Scope: Always, Option: "o1"},
		`{"decision":"allow","input":{"a": 1}}`:               {Allow: true, Scope: Once, Input: json.RawMessage(`{"a": 1}`)},
		`{"decision":"deny","scope":"session","reason":"r","stop":true}`: {Reason: "r", Stop: true},
		`{"decision":"allow","args_sha256":"ab"}`:                        {Allow: true, Scope: Once, ArgsSHA256: "ab"},
	} {
		if d := cmp.Diff(want, Parse([]byte(in))); d != "" {
			t.Errorf("Parse(%s) differs (-want +got):\n%s", in, d)
		}
	}
}

// TestWithin checks that Within returns the requested scope or a narrower one, for all offers.
func TestWithin(t *testing.T) {
	for bits := range 8 {
		var offered []string
		for i, s := range scopes {
			if bits>>i&1 == 1 {
				offered = append(offered, s)
			}
		}
		for word, s := range scopes {
			want := ""
			for i := range word + 1 {
				if bits>>i&1 == 1 {
					want = scopes[i]
				}
			}
			got := Decision{Allow: true, Scope: s, Stop: true}.Within(offered)
			if got.Scope != want || got.Allow != (want != "") || !got.Stop {
				t.Errorf("scope %s within %v = %+v", s, offered, got)
			}
		}
	}
	if got := (Decision{Reason: "r"}).Within(nil); got.Reason != "r" || got.Allow {
		t.Errorf("Within for a denial = %+v, want the same denial", got)
	}
}

func TestCovers(t *testing.T) {
	args := []byte(`{"b": 2.0, "a": "x"}`)
	d := Decision{Allow: true, Scope: Once, ArgsSHA256: Hash([]byte(`{"a":"x","b":2}`))}
	if got := d.Covers(args); !got.Allow {
		t.Errorf("Covers for the approved arguments = %+v, want an approval", got)
	}
	for _, other := range []string{`{"a":"x","b":3}`, `{`, ``} {
		if got := d.Covers([]byte(other)); got.Allow || got.Reason != "the approval is for other arguments" {
			t.Errorf("Covers for the other arguments %s = %+v, want a denial", other, got)
		}
	}
	if got := (Decision{Allow: true}).Covers([]byte(`{`)); !got.Allow {
		t.Errorf("Covers of a decision without a hash = %+v, want an approval", got)
	}
}
