package memstore

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func str(s string) value.Slot { return value.String(s) }

func TestHashMap(t *testing.T) {
	h := NewHashMap("h")
	for _, k := range []string{"b", "a", "c"} {
		if _, had := h.Set(str(k), value.Int(1)); had {
			t.Errorf("%s was there", k)
		}
	}
	if before, had := h.Set(str("a"), value.Int(2)); !had || before.AsInt() != 1 {
		t.Error(value.Text(before), had)
	}
	if before, had := h.Delete(str("b")); !had || before.AsInt() != 1 {
		t.Error(value.Text(before), had)
	}
	if _, had := h.Delete(str("b")); had {
		t.Error("deleted twice")
	}
	entries := h.Entries()
	h.Set(str("d"), value.Int(4))
	if got := value.Text(entries.Slot()); got != `{"a":2,"c":1}` {
		t.Errorf("the entries must be in the order of their keys and stay as they are: %s", got)
	}
	if v, ok := h.Get(str("d")); !ok || v.AsInt() != 4 || h.Len() != 3 {
		t.Error(value.Text(v), ok, h.Len())
	}
	h.Clear()
	if _, ok := h.Get(str("d")); ok || h.Len() != 0 {
		t.Error("not cleared")
	}
}

// TestHashMapValues checks that later mutations are not visible through other references.
func TestHashMapValues(t *testing.T) {
	h := NewHashMap("h")
	a := value.IntArray([]int64{1})
	h.Set(str("k"), a)
	mine := value.Own(a)
	mine.Array().Push(value.Int(2))
	got, _ := h.Get(str("k"))
	theirs := value.Own(got)
	theirs.Array().Push(value.Int(3))
	if now, _ := h.Get(str("k")); value.Text(now) != "[1]" {
		t.Error(value.Text(now))
	}
}

func TestHashMapScopes(t *testing.T) {
	h := NewHashMap("h")
	a := h.Scope("a")
	a.Set(str("k"), value.Int(1))
	h.Set(str("k"), value.Int(2))
	h.Scope("a.b").Set(str("k"), value.Int(3))
	for _, c := range []struct {
		in   *HashMap
		want int64
	}{{h, 2}, {h.Scope("a"), 1}, {h.Scope("a.b"), 3}} {
		if v, _ := c.in.Get(str("k")); v.AsInt() != c.want || c.in.Len() != 1 {
			t.Errorf("%s: %s of %d", c.in.Name(), value.Text(v), c.in.Len())
		}
	}
	if h.Scope("a").Scope("b").Len() != 0 {
		t.Error("a scope in a scope is not the scope of the joined name")
	}
	h.Clear()
	if a.Len() != 1 {
		t.Error("clearing reaches into a scope")
	}
	if !value.Equal(h.Scope("a").Value(), a.Value()) || value.Equal(h.Value(), a.Value()) {
		t.Error("a scope is one store")
	}
	if got := value.Text(a.Value()); got != "<hashmap h.a>" {
		t.Error(got)
	}
}

func TestHashMapWatchers(t *testing.T) {
	h := NewHashMap("h")
	if h.IsWatched(str("k")) {
		t.Error("the hashmap has no watchers")
	}
	h.Watch(str("k"), value.Int(1))
	if !h.IsWatched(str("k")) || h.IsWatched(str("other")) || h.Scope("s").IsWatched(str("k")) {
		t.Error("one key of one scope is watched")
	}
	h.WatchAny(value.Int(2))
	ofKey, ofAny := h.Watchers(str("k"))
	h.Watch(str("k"), value.Int(3))
	h.WatchAny(value.Int(4))
	if got := value.Text(ofKey) + value.Text(ofAny); got != "[1][2]" {
		t.Errorf("a list of watchers must stay as it is: %s", got)
	}
	ofKey, ofAny = h.Watchers(str("k"))
	if got := value.Text(ofKey) + value.Text(ofAny); got != "[1,3][2,4]" {
		t.Error(got)
	}
	if ofKey, ofAny = h.Watchers(str("other")); value.Text(ofKey)+value.Text(ofAny) != "[][2,4]" || !h.IsWatched(str("other")) {
		t.Error(value.Text(ofKey), value.Text(ofAny))
	}
	h.Clear()
	if !h.IsWatched(str("k")) {
		t.Error("clearing removes watchers")
	}
}
