package memstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func ledger(t *testing.T, entries ...Entry) *Ledger {
	t.Helper()
	l := NewLedger("l")
	for _, e := range entries {
		if err := l.Insert(e.Identifier, e.Keys, e.Value); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func identifiers(entries []*Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Identifier)
	}
	return strings.Join(out, ", ")
}

func TestLedger(t *testing.T) {
	l := ledger(t, Entry{Identifier: "one", Keys: []string{"k"}, Value: "1"}, Entry{Identifier: "two", Value: "2"},
		Entry{Identifier: "One", Value: "3"}, Entry{Identifier: "one", Keys: []string{"new"}, Value: "4"})
	if got := identifiers(l.Entries()); got != "one, two, One" || l.Len() != 3 {
		t.Errorf("entries after replacing one = %s (%d), want the same order", got, l.Len())
	}
	if e := l.Entries()[0]; e.Value != "4" || identifiers(l.FromAnyKeys([]string{"k"})) != "" || identifiers(l.FromAnyKeys([]string{"new"})) != "one" {
		t.Errorf("replaced entry = %+v", e)
	}
	if found, err := l.Update("two", "22"); !found || err != nil || l.Entries()[1].Value != "22" {
		t.Error(found, err)
	}
	if found, err := l.UpdateKeys("two", []string{"K"}); !found || err != nil || identifiers(l.FromAllKeys([]string{"k"})) != "two" {
		t.Error(found, err)
	}
	for _, missing := range []func() (bool, error){
		func() (bool, error) { return l.Update("three", "") },
		func() (bool, error) { return l.UpdateKeys("three", nil) },
		func() (bool, error) { return l.Delete("three"), nil },
	} {
		if found, err := missing(); found || err != nil {
			t.Error(found, err)
		}
	}
	if !l.Delete("one") || l.Delete("one") || identifiers(l.Entries()) != "two, One" || identifiers(l.FromIdentifier("ONE")) != "One" {
		t.Error(identifiers(l.Entries()))
	}
	l.Clear()
	if l.Len() != 0 || len(l.Entries()) != 0 || len(l.FromIdentifier("two")) != 0 || len(l.FromAnyKeys([]string{"k"})) != 0 {
		t.Error("the ledger has entries after Clear")
	}
}

func TestLedgerLimits(t *testing.T) {
	l := ledger(t, Entry{Identifier: "old", Keys: []string{"k"}, Value: "v"})
	many := func(n int) []string { return strings.Split(strings.Repeat("k,", n-1)+"k", ",") }
	for _, c := range []struct {
		id, val string
		keys    []string
		want    string
	}{
		{strings.Repeat("é", 512), strings.Repeat("é", 65_536), many(32), ""},
		{"", "", nil, ""},
		{strings.Repeat("a", 513), "", nil, "a ledger's identifier has at most 512 characters, this one 513"},
		{"old", "", many(33), "a ledger's entry has at most 32 keys, this one 33"},
		{"old", "", []string{"", strings.Repeat("a", 129)}, "a ledger's key has at most 128 characters, this one 129"},
		{"old", strings.Repeat("a", 65_537), nil, "a ledger's value has at most 65536 characters, this one 65537"},
	} {
		before := l.Len()
		err := l.Insert(c.id, c.keys, c.val)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("error = %v, want %q", err, c.want)
		}
		if err != nil && l.Len() != before {
			t.Error("an entry beyond a limit was stored")
		}
	}
	if found, err := l.Update("old", strings.Repeat("a", 65_537)); found || err == nil {
		t.Error(found, err)
	}
	if found, err := l.UpdateKeys("old", many(33)); found || err == nil {
		t.Error(found, err)
	}
	if e := l.Entries()[0]; e.Value != "v" || len(e.Keys) != 1 {
		t.Errorf("entry after the failed updates = %+v, want it unchanged", e)
	}
}

func TestLedgerQueries(t *testing.T) {
	l := ledger(t,
		Entry{Identifier: "Rate limits: Acme-API v2", Keys: []string{"api", "Limits"}},
		Entry{Identifier: "ACME api keys", Keys: []string{"API", "secrets", "Limits"}},
		Entry{Identifier: "Éclair straße ΣΟΦΟΣ", Keys: []string{"Σ"}},
		Entry{Identifier: "!!!"},
	)
	for _, c := range []struct{ query, want string }{
		{"acme", "Rate limits: Acme-API v2, ACME api keys"},
		{"api ACME", "Rate limits: Acme-API v2, ACME api keys"},
		{"api,v2!", "Rate limits: Acme-API v2"},
		{"api api", "Rate limits: Acme-API v2, ACME api keys"},
		{"acm", ""},
		{"acme nothing", ""},
		{"éclair", "Éclair straße ΣΟΦΟΣ"},
		{"STRASSE", ""},
		{"σοφος", "Éclair straße ΣΟΦΟΣ"},
		{"σοφοσ", "Éclair straße ΣΟΦΟΣ"},
		{" - ", "Rate limits: Acme-API v2, ACME api keys, Éclair straße ΣΟΦΟΣ, !!!"},
	} {
		if got := identifiers(l.FromIdentifier(c.query)); got != c.want {
			t.Errorf("identifier %q: got %s, want %s", c.query, got, c.want)
		}
	}
	for _, c := range []struct{ keys, all, some string }{
		{"api", "Rate limits: Acme-API v2, ACME api keys", "Rate limits: Acme-API v2, ACME api keys"},
		{"ap", "", ""},
		{"API,limits", "Rate limits: Acme-API v2, ACME api keys", "Rate limits: Acme-API v2, ACME api keys"},
		{"secrets,API", "ACME api keys", "Rate limits: Acme-API v2, ACME api keys"},
		{"secrets,ς", "", "ACME api keys, Éclair straße ΣΟΦΟΣ"},
	} {
		keys := strings.Split(c.keys, ",")
		if got := identifiers(l.FromAllKeys(keys)); got != c.all {
			t.Errorf("all of %q: got %s, want %s", keys, got, c.all)
		}
		if got := identifiers(l.FromAnyKeys(keys)); got != c.some {
			t.Errorf("any of %q: got %s, want %s", keys, got, c.some)
		}
	}
	if n := len(l.FromAllKeys(nil)); n != 4 {
		t.Errorf("FromAllKeys without keys returned %d entries, want all", n)
	}
	if n := len(l.FromAnyKeys(nil)); n != 0 {
		t.Errorf("FromAnyKeys without keys returned %d entries, want none", n)
	}
}

func TestLedgerScopes(t *testing.T) {
	l := ledger(t, Entry{Identifier: "x", Keys: []string{"k"}})
	a := l.Scope("a")
	if a.Len() != 0 || len(a.FromAnyKeys([]string{"k"})) != 0 {
		t.Error("a scope contains an entry of the enclosing ledger")
	}
	if err := a.Insert("y", []string{"k"}, ""); err != nil || l.Len() != 1 || identifiers(l.FromAnyKeys([]string{"k"})) != "x" {
		t.Error("entries of a scope are visible in the enclosing ledger")
	}
	if l.Scope("a") != a || l.Scope("b") == a || value.Text(a.Value()) != "<ledger l.a>" {
		t.Error("Scope returned two ledgers for the same name")
	}
}

// TestLedgerDeletes deletes most entries. The order and the indexes of the others must be correct.
func TestLedgerDeletes(t *testing.T) {
	l := NewLedger("l")
	var want []string
	for i := range 1000 {
		id := fmt.Sprintf("entry %d", i)
		if err := l.Insert(id, []string{fmt.Sprint(i % 10)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if i%100 == 7 {
			want = append(want, fmt.Sprintf("entry %d", i))
		} else {
			l.Delete(fmt.Sprintf("entry %d", i))
		}
	}
	if err := l.Insert("entry last", []string{"7"}, ""); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(append(want, "entry last"), ", ")
	if diff := cmp.Diff([]string{all, all, all}, []string{identifiers(l.Entries()), identifiers(l.FromIdentifier("entry")), identifiers(l.FromAnyKeys([]string{"7"}))}); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkLedger(b *testing.B) {
	l := NewLedger("l")
	for i := range 100_000 {
		if err := l.Insert(fmt.Sprintf("note %d about topic%d", i, i%100), []string{fmt.Sprint(i % 1000)}, "v"); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("identifier", func(b *testing.B) {
		for b.Loop() {
			if n := len(l.FromIdentifier("note topic42")); n != 1000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			if n := len(l.FromAnyKeys([]string{"7"})); n != 100 {
				b.Fatal(n)
			}
		}
	})
}
