package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	pure "github.com/concerto-lang/concerto/internal/data/memstore"
)

// opened returns Stores over files in dir, closed at the test's end.
func opened(t testing.TB, o Options) *Stores {
	t.Helper()
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// do performs a request that must succeed and returns its result.
func do[T effect.Result](t testing.TB, s *Stores, r effect.Request) T {
	t.Helper()
	got, err := s.Perform(context.Background(), r)
	if err != nil {
		t.Fatalf("%s: %v", r.Kind(), err)
	}
	out, _ := got.(T)
	return out
}

func at(kind string) effect.Store { return effect.Store{File: "s.db", Kind: kind, Name: "x"} }

func raws(texts ...string) (out []json.RawMessage) {
	for _, s := range texts {
		out = append(out, json.RawMessage(s))
	}
	return out
}

func set(key, value string) effect.StoreEntry {
	return effect.StoreEntry{Key: json.RawMessage(key), Value: json.RawMessage(value)}
}

// show formats entries as "key=value key=value".
func show(r *effect.StoreEntries) string {
	var out []string
	for _, e := range r.Entries {
		out = append(out, fmt.Sprintf("%s=%s", e.Key, e.Value))
	}
	return strings.Join(out, " ")
}

// both runs a test twice: with a file, which is reopened before each step, and with stores in
// memory.
func both(t *testing.T, test func(t *testing.T, next func() *Stores)) {
	t.Run("memory", func(t *testing.T) {
		s := opened(t, Options{InMemory: true})
		test(t, func() *Stores { return s })
	})
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		var last *Stores
		test(t, func() *Stores {
			if last != nil {
				if err := last.Close(); err != nil {
					t.Fatal(err)
				}
			}
			last = opened(t, Options{Dir: dir})
			return last
		})
	})
}

func TestHashMap(t *testing.T) {
	both(t, func(t *testing.T, next func() *Stores) {
		h := at("hashmap")
		reopened := h
		reopened.File = "./x/../s.db"
		all := &effect.StoreList{Store: h, Keys: true, Values: true}
		for _, r := range []effect.Request{all, &effect.StoreClear{Store: h, List: true}} {
			if got := show(do[*effect.StoreEntries](t, next(), r)); got != "" {
				t.Errorf("%s of an empty store = %s, want no entries", r.Kind(), got)
			}
		}
		if do[*effect.StoreFound](t, next(), &effect.StoreDelete{Store: h, Key: raws(`"b"`)[0]}).Found {
			t.Error("deleting a missing key reported that it was found")
		}
		do[any](t, next(), &effect.StoreWrite{Store: h, Entries: []effect.StoreEntry{set(`"b"`, `1`), set(`"a"`, `[2]`), set(`"b"`, `3`), set(`1`, `"\u0000"`), set(`"1"`, `4`)}})
		if got := show(do[*effect.StoreEntries](t, next(), all)); got != `"b"=3 "a"=[2] 1="\u0000" "1"=4` {
			t.Errorf("entries = %s, want the order in which the keys were first set", got)
		}
		before := do[*effect.StoreEntries](t, next(), &effect.StoreWrite{Store: h, Before: true, Entries: []effect.StoreEntry{set(`"a"`, `5`), set(`"c"`, `6`), set(`"a"`, `7`)}})
		if got := show(before); got != "=[2] = =5" || before.Entries[1].Value != nil {
			t.Errorf("previous values = %s, want [2], none, 5", got)
		}
		read := do[*effect.StoreEntries](t, next(), &effect.StoreRead{Store: h, Keys: raws(`"c"`, `"z"`, `"b"`)})
		if got := show(read); got != "=6 = =3" || read.Entries[1].Value != nil {
			t.Errorf("values read = %s, want 6, none, 3", got)
		}
		if !do[*effect.StoreFound](t, next(), &effect.StoreDelete{Store: h, Key: raws(`"b"`)[0]}).Found {
			t.Error("deleting an existing key reported that it was not found")
		}
		do[any](t, next(), &effect.StoreWrite{Store: h, Entries: []effect.StoreEntry{set(`"b"`, `8`)}})
		if got := show(do[*effect.StoreEntries](t, next(), &effect.StoreList{Store: h, Keys: true})); got != `"a"= 1= "1"= "c"= "b"=` {
			t.Errorf("keys = %s, want the deleted and added key last", got)
		}
		if got := show(do[*effect.StoreEntries](t, next(), &effect.StoreList{Store: h, Values: true})); got != `=7 ="\u0000" =4 =6 =8` {
			t.Errorf("values = %s, want them in the order of the keys", got)
		}
		other := h
		other.Scope = `["in"]`
		do[any](t, next(), &effect.StoreWrite{Store: other, Entries: []effect.StoreEntry{set(`"a"`, `0`)}})
		if n := do[*effect.StoreCount](t, next(), &effect.StoreLen{Store: reopened}).Count; n != 5 {
			t.Errorf("%d entries, want 5", n)
		}
		if got := show(do[*effect.StoreEntries](t, next(), &effect.StoreClear{Store: h, List: true})); got != `"a"=7 1="\u0000" "1"=4 "c"=6 "b"=8` {
			t.Errorf("cleared entries = %s, want all entries", got)
		}
		if n := do[*effect.StoreCount](t, next(), &effect.StoreLen{Store: h}).Count; n != 0 {
			t.Errorf("%d entries are left after clearing, want 0", n)
		}
		if got := show(do[*effect.StoreEntries](t, next(), &effect.StoreRead{Store: other, Keys: raws(`"a"`)})); got != "=0" {
			t.Errorf("value in another scope after clearing = %s, want 0", got)
		}
	})
}

func TestAdd(t *testing.T) {
	s := opened(t, Options{InMemory: true})
	h := at("hashmap")
	do[any](t, s, &effect.StoreWrite{Store: h, Entries: []effect.StoreEntry{set(`"text"`, `"1"`), set(`"max"`, `9223372036854775807`), set(`"min"`, `-9223372036854775808`),
		set(`"half"`, `0.5`), set(`"inf"`, `"inf"`), set(`"-inf"`, `"-inf"`), set(`"null"`, `null`)}})
	for _, c := range []struct{ key, by, want string }{
		{"new", "2", "=2"}, {"new", "-3", "=-1"}, {"newf", "1.5", "=1.5"}, {"half", "0.5", "=1.0"}, {"inf", "1.0", `="inf"`}, {"-inf", `"inf"`, `="NaN"`},
		{"max", "1", "RuntimeError: integer overflow"}, {"min", "-1", "RuntimeError: integer overflow"}, {"max", "-1", "=9223372036854775806"},
		{"text", "1", `HashMapError: x["text"] in s.db: expected Int, got "1" (text)`}, {"half", "1", `HashMapError: x["half"] in s.db: expected Int, got 1.0 (half)`},
		{"text", "1.0", `HashMapError: x["text"] in s.db: expected Float, got "1" (text)`}, {"null", "1.0", `HashMapError: x["null"] in s.db: expected Float, got null (null)`},
	} {
		r, err := s.Perform(context.Background(), &effect.StoreAdd{Store: h, Key: json.RawMessage(`"` + c.key + `"`), By: json.RawMessage(c.by)})
		got := ""
		var e *effect.Error
		if errors.As(err, &e) {
			if got = e.Kind + ": " + e.Message; e.Fields["key"] != nil {
				got += fmt.Sprintf(" (%s)", e.Fields["key"])
			}
		} else {
			got = show(&effect.StoreEntries{Entries: r.(*effect.StoreEntries).Entries[1:]})
		}
		if got != c.want {
			t.Errorf("%s + %s: %s, want %s", c.key, c.by, got, c.want)
		}
	}
	if got := show(do[*effect.StoreEntries](t, s, &effect.StoreRead{Store: h, Keys: raws(`"max"`, `"text"`)})); got != `=9223372036854775806 ="1"` {
		t.Errorf("values after a failed addition = %s, want them unchanged", got)
	}
}

// TestExpire checks that a cache loses its entries that expire before a date, and that other caches
// and other kinds of store do not change.
func TestExpire(t *testing.T) {
	both(t, func(t *testing.T, next func() *Stores) {
		s := next()
		a, b, h := at("cache"), at("cache"), at("hashmap")
		b.Name = "other"
		for _, x := range []effect.Store{a, b, h} {
			do[any](t, s, &effect.StoreWrite{Store: x, Entries: []effect.StoreEntry{
				set(`"old"`, `[0000000000999,1]`), set(`"now"`, `[0000000001000,{"x":2}]`), set(`"late"`, `[9999999999999,null]`)}})
		}
		do[any](t, s, &effect.StoreExpire{Store: a, Date: 1000})
		s = next()
		keys := raws(`"old"`, `"now"`, `"late"`)
		for x, want := range map[effect.Store]string{a: `= =[0000000001000,{"x":2}] =[9999999999999,null]`,
			b: `=[0000000000999,1] =[0000000001000,{"x":2}] =[9999999999999,null]`, h: `=[0000000000999,1] =[0000000001000,{"x":2}] =[9999999999999,null]`} {
			if got := show(do[*effect.StoreEntries](t, s, &effect.StoreRead{Store: x, Keys: keys})); got != want {
				t.Errorf("%s %s: entries %s, want %s", x.Kind, x.Name, got, want)
			}
		}
	})
}

// TestLedger compares a ledger in a file with one in memory. It performs many random operations on
// a few words with both.
func TestLedger(t *testing.T) {
	both(t, func(t *testing.T, next func() *Stores) {
		s, at := next(), at("ledger")
		want := pure.NewLedger("x")
		random := rand.New(rand.NewPCG(1, 2))
		words := []string{"Acme", "ACME", "api", "Limits", "straße", "ΣΟΦΟΣ", "σοφος", "v2", "\x00", "!"}
		text := func(most int) string {
			var out []string
			for range random.IntN(most + 1) {
				out = append(out, words[random.IntN(len(words))])
			}
			return strings.Join(out, " -"[random.IntN(2):][:1])
		}
		keys := func() (out []string) {
			for range random.IntN(4) {
				out = append(out, words[random.IntN(len(words))])
			}
			return out
		}
		for i := range 800 {
			if i%100 == 99 {
				s = next()
			}
			identifier, ks, value := text(2), keys(), text(3)
			var got, expected any
			switch random.IntN(13) {
			case 0, 1, 2, 3:
				if err := want.Insert(identifier, ks, value); err != nil {
					t.Fatal(err)
				}
				do[any](t, s, &effect.LedgerPut{Store: at, Entry: effect.LedgerEntry{Identifier: identifier, Keys: ks, Value: value}})
			case 4:
				expected, _ = want.Update(identifier, value)
				got = do[*effect.StoreFound](t, s, &effect.LedgerPut{Store: at, Entry: effect.LedgerEntry{Identifier: identifier, Value: value}, Update: "value"}).Found
			case 5:
				expected, _ = want.UpdateKeys(identifier, ks)
				got = do[*effect.StoreFound](t, s, &effect.LedgerPut{Store: at, Entry: effect.LedgerEntry{Identifier: identifier, Keys: ks}, Update: "keys"}).Found
			case 6:
				expected = want.Delete(identifier)
				got = do[*effect.StoreFound](t, s, &effect.LedgerDelete{Store: at, Identifier: identifier}).Found
			case 7:
				expected, got = plain(want.FromIdentifier(identifier)), found(t, s, &effect.LedgerFind{Store: at, By: "identifier", Texts: []string{identifier}})
			case 8:
				expected, got = plain(want.FromAllKeys(ks)), found(t, s, &effect.LedgerFind{Store: at, By: "all", Texts: ks})
			case 9:
				expected, got = plain(want.FromAnyKeys(ks)), found(t, s, &effect.LedgerFind{Store: at, By: "any", Texts: ks})
			case 10:
				expected, got = int64(want.Len()), do[*effect.StoreCount](t, s, &effect.StoreLen{Store: at}).Count
			case 11:
				if random.IntN(20) == 0 {
					want.Clear()
					do[any](t, s, &effect.StoreClear{Store: at})
				}
				expected, got = plain(want.Entries()), found(t, s, &effect.LedgerFind{Store: at})
			case 12:
				expected, got = plain(want.FromText(value)), found(t, s, &effect.LedgerFind{Store: at, By: "text", Texts: []string{value}})
			}
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Fatalf("operation %d with %q, %q: in memory (-), in the file (+):\n%s", i, identifier, ks, diff)
			}
		}
	})
}

func plain(entries []*pure.Entry) []effect.LedgerEntry {
	var out []effect.LedgerEntry
	for _, e := range entries {
		out = append(out, effect.LedgerEntry{Identifier: e.Identifier, Keys: append([]string(nil), e.Keys...), Value: e.Value})
	}
	return out
}

func found(t *testing.T, s *Stores, r *effect.LedgerFind) []effect.LedgerEntry {
	t.Helper()
	return do[*effect.LedgerEntries](t, s, r).Entries
}

// TestLedgerManyTexts searches with more texts than an entry can have.
func TestLedgerManyTexts(t *testing.T) {
	s, at := opened(t, Options{InMemory: true}), at("ledger")
	for i := range 40 {
		do[any](t, s, &effect.LedgerPut{Store: at, Entry: effect.LedgerEntry{Identifier: fmt.Sprint("common w", i), Keys: []string{fmt.Sprint("k", i%20), "all"}}})
	}
	var many, few []string
	for i := range 3000 {
		many = append(many, fmt.Sprint("K", i))
	}
	few = append(many[:5:5], many[100:120]...)
	for _, c := range []struct {
		by    string
		texts []string
		want  int
	}{
		{"any", many, 40}, {"any", few, 10}, {"any", nil, 0}, {"all", many, 0}, {"all", []string{"K1", "ALL"}, 2}, {"all", nil, 40},
		{"identifier", []string{strings.Join(many, " ")}, 0}, {"identifier", []string{"W7 common"}, 1}, {"identifier", []string{"--"}, 40},
	} {
		if got := found(t, s, &effect.LedgerFind{Store: at, By: c.by, Texts: c.texts}); len(got) != c.want {
			t.Errorf("search by %s with %d texts found %d entries, want %d", c.by, len(c.texts), len(got), c.want)
		}
	}
}

// TestMemory compares a memory in a file with one in memory.
func TestMemory(t *testing.T) {
	for _, size := range [][2]int{{0, 0}, {1, 0}, {3, 0}, {3, 2}, {5, 5}, {9, 4}} {
		window, trim := size[0], size[1]
		both(t, func(t *testing.T, next func() *Stores) {
			s, at := next(), at("memory")
			want := pure.NewMemory(window, trim)
			random := rand.New(rand.NewPCG(3, 4))
			for i := range 120 {
				if i%40 == 39 {
					s = next()
				}
				if random.IntN(60) == 0 {
					want.Clear()
					do[any](t, s, &effect.StoreClear{Store: at})
				}
				var added []effect.MemoryMessage
				for j := range random.IntN(5) {
					m := effect.MemoryMessage{Role: "user", Content: fmt.Sprint("m\x00", i, j)}
					added = append(added, m)
					want.Append(m.Role, m.Content)
				}
				do[any](t, s, &effect.MemoryAppend{Store: at, Messages: added, Window: window, Trim: trim})
				n := random.IntN(6) - 1
				expected := want.Messages()
				if n >= 0 {
					expected = want.Last(n)
				}
				var got []pure.Message
				for _, m := range do[*effect.MemoryMessages](t, s, &effect.MemoryList{Store: at, Last: n, Window: window}).Messages {
					got = append(got, pure.Message{Role: m.Role, Content: m.Content})
				}
				if diff := cmp.Diff(expected, got); diff != "" {
					t.Fatalf("step %d: the last %d messages of a window of %d differ (-want +got):\n%s", i, n, window, diff)
				}
				if n := do[*effect.StoreCount](t, s, &effect.StoreLen{Store: at, Window: window}).Count; n != int64(want.Len()) {
					t.Fatalf("step %d: %d messages, want %d", i, n, want.Len())
				}
			}
		})
	}
}

// TestSmallerWindow reduces a memory's window. Only the latest messages may be shown, and the older
// ones must be removed with the next message.
func TestSmallerWindow(t *testing.T) {
	s, at := opened(t, Options{InMemory: true}), at("memory")
	var many []effect.MemoryMessage
	for i := range 10 {
		many = append(many, effect.MemoryMessage{Role: "user", Content: fmt.Sprint(i)})
	}
	do[any](t, s, &effect.MemoryAppend{Store: at, Messages: many})
	if n := len(do[*effect.MemoryMessages](t, s, &effect.MemoryList{Store: at, Last: 5, Window: 2}).Messages); n != 2 {
		t.Errorf("got %d messages, want the 2 of the window", n)
	}
	do[any](t, s, &effect.MemoryAppend{Store: at, Messages: many[:1], Window: 2})
	if n := do[*effect.StoreCount](t, s, &effect.StoreLen{Store: at}).Count; n != 2 {
		t.Errorf("%d messages are stored, want 2", n)
	}
}

// TestTwoRunsCount lets several runs increase one number in a file. No increment may be lost.
func TestTwoRunsCount(t *testing.T) {
	dir := t.TempDir()
	const each = 150
	var counting sync.WaitGroup
	for range 3 {
		s := opened(t, Options{Dir: dir, Wait: time.Minute})
		counting.Go(func() {
			for range each {
				if _, err := s.Perform(context.Background(), &effect.StoreAdd{Store: at("hashmap"), Key: json.RawMessage(`"n"`), By: json.RawMessage("1")}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	counting.Wait()
	got := show(do[*effect.StoreEntries](t, opened(t, Options{Dir: dir}), &effect.StoreRead{Store: at("hashmap"), Keys: raws(`"n"`)}))
	if want := fmt.Sprint("=", 3*each); got != want {
		t.Errorf("count = %s, want %s", got, want)
	}
}

// TestBusy sends requests while another process writes. A request must wait for a limited time, and
// at most until its context ends. With WithNoWait it must not wait.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	holder := opened(t, Options{Dir: dir})
	write := &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"a"`, `1`)}}
	do[any](t, holder, write)
	f := holder.fileAt("s.db")
	if err := f.runStatement("BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	s := opened(t, Options{Dir: dir, Wait: 30 * time.Millisecond})
	_, err := s.Perform(context.Background(), write)
	var e *effect.Error
	if !errors.As(err, &e) || e.Kind != "HashMapError" || e.Message != "cannot use s.db: another process has been writing to it for 30ms: wait until it finishes or stop it, and try again" {
		t.Errorf("error = %v, want a HashMapError about the other process", err)
	}
	if _, err := s.Perform(effect.WithNoWait(context.Background()), write); !errors.Is(err, effect.ErrWaits) {
		t.Errorf("write with WithNoWait: error %v, want ErrWaits", err)
	}
	if got := show(do[*effect.StoreEntries](t, s, &effect.StoreRead{Store: at("hashmap"), Keys: raws(`"a"`)})); got != "=1" {
		t.Errorf("value read during the write = %s, want 1", got)
	}
	patient := opened(t, Options{Dir: dir, Wait: time.Hour})
	cause := errors.New("cancelled")
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error)
	go func() {
		_, err := patient.Perform(ctx, write)
		ended <- err
	}()
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("cancelled write: error %v, want the context's cause", err)
	}
	done := make(chan error)
	go func() {
		_, err := patient.Perform(context.Background(), &effect.StoreAdd{Store: at("hashmap"), Key: json.RawMessage(`"a"`), By: json.RawMessage("1")})
		done <- err
	}()
	f.rollback()
	if err := <-done; err != nil {
		t.Errorf("write after the other process has finished: %v", err)
	}
}

// TestRequestsAreSerialised checks that the requests of one run are performed one at a time, and
// that a request with WithNoWait does not wait for its turn.
func TestRequestsAreSerialised(t *testing.T) {
	s := opened(t, Options{Dir: t.TempDir()})
	f := s.fileAt("s.db")
	f.turn <- struct{}{}
	read := &effect.StoreRead{Store: at("hashmap"), Keys: raws(`"a"`)}
	if _, err := s.Perform(effect.WithNoWait(context.Background()), read); !errors.Is(err, effect.ErrWaits) {
		t.Errorf("read with WithNoWait: error %v, want ErrWaits", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Perform(ctx, read); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled read: error %v, want context.Canceled", err)
	}
	<-f.turn
	do[*effect.StoreEntries](t, s, read)
}

// TestAnyFileName checks that every name that the file system allows can be used for a file.
func TestAnyFileName(t *testing.T) {
	dir := t.TempDir()
	h := at("hashmap")
	h.File = "file: a?b#c%20&immutable=1 é.db"
	for i := range 3 {
		s := opened(t, Options{Dir: dir})
		do[any](t, s, &effect.StoreAdd{Store: h, Key: raws(`"n"`)[0], By: raws("1")[0]})
		if got := show(do[*effect.StoreEntries](t, s, &effect.StoreRead{Store: h, Keys: raws(`"n"`)})); got != fmt.Sprint("=", i+1) {
			t.Errorf("count in run %d = %s", i, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 || names[0].Name() != h.File {
		t.Errorf("files = %v (error %v), want only %q", names, err, h.File)
	}
}

// TestFiles checks three properties. Relative paths start at Dir. Two names of one file refer to
// the same database. No file is created before a request writes to it.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir})
	one, other := at("hashmap"), at("hashmap")
	other.File = filepath.Join(dir, "s.db")
	do[any](t, s, &effect.StoreWrite{Store: one, Entries: []effect.StoreEntry{set(`"a"`, `1`)}})
	if got := show(do[*effect.StoreEntries](t, s, &effect.StoreRead{Store: other, Keys: raws(`"a"`)})); got != "=1" {
		t.Error(got)
	}
	if _, err := s.Perform(context.Background(), &effect.Random{}); err == nil {
		t.Error("a request that concerns no store was performed")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("files %q (%v), want one", names, err)
	}
}
