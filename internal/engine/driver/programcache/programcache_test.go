package programcache

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestVersions checks that another build of the program does not use the entries of this one, and
// does not remove them.
func TestVersions(t *testing.T) {
	own := executable
	defer func() { executable = own }()
	dir := t.TempDir()
	r := driver.Request{Dir: dir, Path: "main.conc", Programs: dir}
	keys := map[string]bool{}
	for _, build := range []string{"1", "2"} {
		executable = func() string { return build }
		key, ok := Key(r, Build)
		if !ok || keys[key] {
			t.Fatalf("key %q of build %s: %t", key, build, ok)
		}
		keys[key] = true
		Store(dir, key, &Program{Root: build})
	}
	for key := range keys {
		if _, ok := Load(dir, key); !ok {
			t.Errorf("entry %s was removed", key)
		}
	}
	executable = func() string { return "" }
	if _, ok := Key(r, Build); ok {
		t.Error("a build that is not known has a key, want none")
	}
}

// TestTidy checks what is removed: what was not used for 30 days, and the longest unused above 200
// MB. A clock that was in the future, or is in the past, removes nothing.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	for name, x := range map[string]struct {
		days int
		size int64
	}{
		"old": {-31, 1}, "large-old": {-3, 150 << 20}, "large": {-2, 150 << 20}, "today": {0, 1}, "future": {100, 1},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, x.size); err != nil {
			t.Fatal(err)
		}
		when := now.AddDate(0, 0, x.days)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	tidy(dir, now)
	want := map[string]bool{"large": true, "today": true, "future": true}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(want) {
		t.Errorf("%d entries are left, want %d; error %v", len(left), len(want), err)
	}
	for _, e := range left {
		if !want[e.Name()] {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// TestUse checks that the time of use is written once a day.
func TestUse(t *testing.T) {
	dir := t.TempDir()
	Store(dir, "key", &Program{})
	path := filepath.Join(dir, "key")
	for _, c := range []struct {
		age     time.Duration
		isNewer bool
	}{{time.Hour, false}, {48 * time.Hour, true}} {
		was := time.Now().Add(-c.age)
		if err := os.Chtimes(path, was, was); err != nil {
			t.Fatal(err)
		}
		if _, ok := Load(dir, "key"); !ok {
			t.Fatal("the entry is not used")
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.ModTime().Sub(was) > time.Minute; got != c.isNewer {
			t.Errorf("used after %v: newer %t, want %t", c.age, got, c.isNewer)
		}
	}
}

// FuzzDecode checks that no content of an entry makes the reader panic. The hash does not protect
// from what another program wrote.
func FuzzDecode(f *testing.F) {
	var found diag.List
	found.Add(diag.NoMain.At(source.Span{}, "no main").Hint("add one"))
	text, err := encode("key", &Program{Root: "/r", Found: Findings{found}, IR: []byte("{}")})
	if err != nil {
		f.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	f.Add(rest)
	f.Add([]byte(`{"key":"key","found":{"all":[{"code":"E0301","at":{"file":9}}]}}` + "\n"))
	f.Add([]byte(`{"key":"key","found":{"files":[{"name":"a","text":"b"}],"all":[{"code":"E0301","at":{"file":1,"Start":5,"End":9}}]}}` + "\n"))
	f.Fuzz(func(t *testing.T, rest []byte) {
		p, ok := decode(append([]byte(checksum(rest)+"\n"), rest...), "key")
		if !ok {
			return
		}
		for _, d := range p.Found.Sorted() {
			if d.Info == nil || d.File == nil && d.Span.End > 0 || d.File != nil && int(d.Span.End) > len(d.File.Text) {
				t.Errorf("diagnostic %+v is not inside its file", d)
			}
		}
	})
}
