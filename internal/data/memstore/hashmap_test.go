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
			t.Errorf("Set of the new key %s returned a previous value", k)
		}
	}
	if before, had := h.Set(str("a"), value.Int(2)); !had || before.AsInt() != 1 {
		t.Error(value.Text(before), had)
	}
	if before, had := h.Delete(str("b")); !had || before.AsInt() != 1 {
		t.Error(value.Text(before), had)
	}
	if _, had := h.Delete(str("b")); had {
		t.Error("the second Delete of a key returned a value")
	}
	entries := h.Entries()
	h.Set(str("d"), value.Int(4))
	if got := value.Text(entries.Slot()); got != `{"a":2,"c":1}` {
		t.Errorf("copied entries = %s, want the original entries in order", got)
	}
	if v, ok := h.Get(str("d")); !ok || v.AsInt() != 4 || h.Len() != 3 {
		t.Error(value.Text(v), ok, h.Len())
	}
	h.Clear()
	if _, ok := h.Get(str("d")); ok || h.Len() != 0 {
		t.Error("the hashmap has entries after Clear")
	}
}

// TestHashMapValues changes values after they were stored. The stored values must not change.
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
			t.Errorf("hashmap %s: value %s, %d entries", c.in.Name(), value.Text(v), c.in.Len())
		}
	}
	if h.Scope("a").Scope("b").Len() != 0 {
		t.Error("a nested scope is the same as the scope with the joined name")
	}
	h.Clear()
	if a.Len() != 1 {
		t.Error("Clear removed the entries of a scope")
	}
	if !value.Equal(h.Scope("a").Value(), a.Value()) || value.Equal(h.Value(), a.Value()) {
		t.Error("Scope returned two stores for the same name")
	}
	if got := value.Text(a.Value()); got != "<hashmap h.a>" {
		t.Error(got)
	}
}

func TestHashMapWatchers(t *testing.T) {
	h := NewHashMap("h")
	if h.IsWatched(str("k")) {
		t.Error("HasWatchers or IsWatched = true for a hashmap without watchers")
	}
	h.Watch(str("k"), value.Int(1))
	if !h.IsWatched(str("k")) || h.IsWatched(str("other")) || h.Scope("s").IsWatched(str("k")) {
		t.Error("want watchers for only one key of one scope")
	}
	h.WatchAny(value.Int(2))
	ofKey, ofAny := h.Watchers(str("k"))
	h.Watch(str("k"), value.Int(3))
	h.WatchAny(value.Int(4))
	if got := value.Text(ofKey) + value.Text(ofAny); got != "[1][2]" {
		t.Errorf("watchers from an earlier call = %s, want [1][2] without later watchers", got)
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
		t.Error("Clear removed the watchers")
	}
}
