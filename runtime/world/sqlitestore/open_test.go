package sqlitestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// sample returns the bytes of a database that contains some entries in each kind of store.
func sample(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir})
	var entries []effect.StoreEntry
	for _, k := range strings.Fields(strings.Repeat("k ", 300)) {
		n, _ := json.Marshal(len(entries))
		entries = append(entries, set(`"`+k+string(n)+`"`, `"some text that fills the pages of the file"`))
	}
	do[any](t, s, &effect.StoreWrite{Store: at("hashmap"), Entries: entries})
	do[any](t, s, &effect.LedgerPut{Store: at("ledger"), Entry: effect.LedgerEntry{Identifier: "An identifier", Keys: []string{"k"}, Value: "v"}})
	do[any](t, s, &effect.MemoryAppend{Store: at("memory"), Messages: []effect.MemoryMessage{{Role: "user", Content: "hello"}}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// requests returns a request of each kind, reading or writing, for the stores of sample.
func requests() []effect.Request {
	h, l, m := at("hashmap"), at("ledger"), at("memory")
	return []effect.Request{
		&effect.StoreRead{Store: h, Keys: raws(`"k1"`)}, &effect.StoreList{Store: h, Keys: true, Values: true}, &effect.StoreLen{Store: h},
		&effect.StoreWrite{Store: h, Entries: []effect.StoreEntry{set(`"k1"`, `1`)}}, &effect.StoreAdd{Store: h, Key: json.RawMessage(`"n"`), By: json.RawMessage("1")},
		&effect.StoreDelete{Store: h, Key: json.RawMessage(`"k2"`)}, &effect.LedgerFind{Store: l}, &effect.LedgerFind{Store: l, By: "identifier", Texts: []string{"an"}},
		&effect.LedgerPut{Store: l, Entry: effect.LedgerEntry{Identifier: "x"}}, &effect.LedgerDelete{Store: l, Identifier: "An identifier"},
		&effect.MemoryAppend{Store: m, Messages: []effect.MemoryMessage{{Role: "user", Content: "more"}}}, &effect.MemoryList{Store: m, Last: -1},
		&effect.StoreClear{Store: h},
	}
}

// foreign returns the bytes of a SQLite database of another program.
func foreign(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.db")
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec("CREATE TABLE t (x)"), c.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRefused sends every request to a file that belongs to another program, is damaged, or has a
// newer format. The request must fail with the reason. The file must not change, and no other file
// may be created next to it.
func TestRefused(t *testing.T) {
	good := sample(t)
	changed := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(good)) }
	const damagedEnd = "and was not changed: replace it by a copy, or move it away to start again"
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"text", []byte(`{"scores":{"ada":3}}`), "it is not a database of Concerto: another program wrote it, or it is damaged; use another file, or move it away"},
		{"one byte", []byte("S"), "it is not a database of Concerto"},
		{"zeros", make([]byte, 8192), "it is not a database of Concerto"},
		{"another program's", foreign(t), "it is an SQLite database of another program: use another file"},
		{"newer", changed(func(b []byte) []byte { binary.BigEndian.PutUint32(b[60:], queueFormat+1); return b }),
			"it was written by a newer version of Concerto (format 4, this version supports 3): upgrade Concerto, or use another file"},
		{"no version", changed(func(b []byte) []byte { binary.BigEndian.PutUint32(b[60:], 0); return b }), "it is damaged (unknown format 0) " + damagedEnd},
		{"cut in a page", good[:len(good)-100], "it is damaged (its last 100 bytes are missing) " + damagedEnd},
		{"cut to a page", good[:4096], "bytes are missing) " + damagedEnd},
		{"cut in the header", good[:99], "it is not a database of Concerto"},
		{"a newer SQLite's", changed(func(b []byte) []byte { b[18], b[19] = 9, 9; return b }), damagedEnd},
		{"page size", changed(func(b []byte) []byte { b[16], b[17] = 3, 3; return b }), damagedEnd},
		{"zeros in the middle", changed(func(b []byte) []byte { clear(b[3*4096 : 4*4096]); return b }), damagedEnd},
		{"noise in the middle", changed(func(b []byte) []byte {
			for i := 2 * 4096; i < 5*4096; i++ {
				b[i] = byte(i * 7)
			}
			return b
		}), damagedEnd},
		{"the schema's page", changed(func(b []byte) []byte {
			for i := 100; i < 4096; i++ {
				b[i] ^= 0x55
			}
			return b
		}), damagedEnd},
		{"other tables", changed(func(b []byte) []byte {
			return bytes.Replace(b, []byte("CREATE TABLE word"), []byte("CREATE TABLE work"), 1)
		}), damagedEnd},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "s.db")
			if err := os.WriteFile(path, c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			s := opened(t, Options{Dir: dir})
			for _, r := range requests() {
				_, err := s.Perform(context.Background(), r)
				var e *effect.Error
				if !errors.As(err, &e) || !strings.HasPrefix(e.Message, "cannot use s.db: ") || !strings.Contains(e.Message, c.want) {
					t.Fatalf("%s: error %v, want one that contains %q", r.Kind(), err, c.want)
				}
				if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.data) {
					t.Fatalf("%s: the file was changed (read error %v)", r.Kind(), err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
				t.Errorf("files = %q, want only the refused file", names)
			}
		})
	}
}

// TestInvalidPath checks that the error for an invalid path describes the problem and the remedy.
func TestInvalidPath(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "plain"), nil, 0o666), os.Mkdir(filepath.Join(dir, "d"), 0o777)); err != nil {
		t.Fatal(err)
	}
	s := opened(t, Options{Dir: dir})
	for _, c := range []struct{ file, kind, want string }{
		{"none/s.db", "hashmap", "HashMapError: cannot use none/s.db: its directory " + filepath.Join(dir, "none") + " does not exist: create it, or use another file"},
		{"d", "memory", "FsError: cannot use d: it is a directory: use a file in it"},
		{"plain/s.db", "hashmap", "HashMapError: cannot use plain/s.db: "},
	} {
		_, err := s.Perform(context.Background(), &effect.StoreLen{Store: effect.Store{File: c.file, Kind: c.kind, Name: "x"}})
		var e *effect.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Kind+": "+e.Message, c.want) {
			t.Errorf("file %s: error %v, want the prefix %q", c.file, err, c.want)
		}
		if path, ok := e.Fields["path"]; e.Kind == "FsError" && path != c.file || e.Kind == "HashMapError" && ok {
			t.Errorf("file %s: fields = %v, want the path for an FsError only", c.file, e.Fields)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 {
		t.Errorf("files = %q, want no new file", names)
	}
}

// TestReadOnly checks that a file without write permission is refused before it is read.
func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this user or system can write read-only files")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	if err := os.WriteFile(path, sample(t), 0o444); err != nil {
		t.Fatal(err)
	}
	_, err := opened(t, Options{Dir: dir}).Perform(context.Background(), &effect.StoreLen{Store: at("hashmap")})
	if err == nil || !strings.Contains(err.Error(), "cannot be written: permit that, or name another file") {
		t.Error(err)
	}
}

// TestEmptyFile checks that an empty file is treated as a new database. A process that is killed
// while it creates a database leaves such a file.
func TestEmptyFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.db"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := opened(t, Options{Dir: dir})
	for _, r := range requests() {
		do[any](t, s, r)
	}
}

// TestInterruptedCreationIsRepeated uses a file whose creating process was killed. The next process
// must undo the incomplete tables with the journal and create all tables.
func TestInterruptedCreationIsRepeated(t *testing.T) {
	dir := t.TempDir()
	journal := make([]byte, 512)
	copy(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") // SQLite's mark, then: no pages, and none before
	binary.BigEndian.PutUint32(journal[20:], 512)
	binary.BigEndian.PutUint32(journal[24:], 4096)
	for name, data := range map[string][]byte{"s.db": sample(t), "s.db-journal": journal} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, Options{Dir: dir})
	do[any](t, s, &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"a"`, "1")}})
	if got := show(do[*effect.StoreEntries](t, s, &effect.StoreList{Store: at("hashmap"), Keys: true, Values: true})); got != `"a"=1` {
		t.Errorf("entries = %s, want \"a\"=1", got)
	}
}

// TestDamagedValueIsReported damages values in a file. Reading such a value must fail with the
// names of the store and the key, and the entry must remain replaceable and removable.
func TestDamagedValueIsReported(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir})
	scoped := at("hashmap")
	scoped.Scope = "eu"
	do[any](t, s, &effect.StoreWrite{Store: scoped, Entries: []effect.StoreEntry{set(`"ada"`, `{"n":1}`), set(`"bob"`, `{"n":2}`)}})
	do[any](t, s, &effect.StoreWrite{Store: at("cache"), Entries: []effect.StoreEntry{set(`"hash"`, `[1,"x"]`)}})
	do[any](t, s, &effect.MemoryAppend{Store: at("memory"), Messages: []effect.MemoryMessage{{Role: "user", Content: "hello"}, {Role: "assistant", Content: "hi"}}})
	put := &effect.LedgerPut{Store: at("ledger"), Entry: effect.LedgerEntry{Identifier: "Main Street", Keys: []string{"k"}, Value: "v"}}
	do[any](t, s, put)
	for _, sql := range []string{`UPDATE entry SET value = replace(value, '1', '7')`, `UPDATE message SET content = 'help' WHERE id = 1`, `UPDATE record SET keys = '["q"]'`} {
		if err := s.fileAt("s.db").runStatement(sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	const end = " is damaged: its checksum does not match; store it again or delete it, or replace the file by a copy"
	entry, street := `the entry "ada" of the hashmap x (scope "eu")`+end, `the entry "Main Street" of the ledger x`+end
	change := *put
	change.Update = "value"
	for _, c := range []struct {
		r    effect.Request
		want string
	}{
		{&effect.StoreRead{Store: scoped, Keys: raws(`"ada"`)}, entry},
		{&effect.StoreList{Store: scoped, Values: true}, entry},
		{&effect.StoreList{Store: scoped, Keys: true, Values: true}, entry},
		{&effect.StoreAdd{Store: scoped, Key: json.RawMessage(`"ada"`), By: json.RawMessage("1")}, entry},
		{&effect.StoreWrite{Store: scoped, Entries: []effect.StoreEntry{set(`"ada"`, "1")}, Before: true}, entry},
		{&effect.StoreRead{Store: at("cache"), Keys: raws(`"hash"`)}, "the stored answers of @cache of x are damaged: their checksum does not match; move the file away to start again"},
		{&effect.MemoryList{Store: at("memory"), Last: -1}, "message 2 from the end of the memory x is damaged: its checksum does not match; clear the memory, or replace the file by a copy"},
		{&effect.LedgerFind{Store: at("ledger")}, street},
		{&effect.LedgerFind{Store: at("ledger"), By: "identifier", Texts: []string{"street"}}, street},
		{&change, street},
	} {
		if _, err := s.Perform(context.Background(), c.r); err == nil || err.Error() != "cannot use s.db: "+c.want {
			t.Errorf("%s: error %v, want %q", c.r.Kind(), err, c.want)
		}
	}
	do[any](t, s, &effect.StoreRead{Store: scoped, Keys: raws(`"bob"`)})
	do[any](t, s, &effect.MemoryList{Store: at("memory"), Last: 1})
	do[any](t, s, &effect.StoreWrite{Store: scoped, Entries: []effect.StoreEntry{set(`"ada"`, "3")}})
	do[any](t, s, put)
	if got := do[*effect.LedgerEntries](t, s, &effect.LedgerFind{Store: at("ledger"), By: "any", Texts: []string{"k", "q"}}); len(got.Entries) != 1 {
		t.Error(got)
	}
	if err := s.fileAt("s.db").runStatement(`UPDATE record SET value = 'w'`, nil); err != nil {
		t.Fatal(err)
	}
	do[any](t, s, &effect.LedgerDelete{Store: at("ledger"), Identifier: "Main Street"})
	for _, table := range []string{"record", "word", "record_key"} {
		if n := rows(t, s, table); n != 0 {
			t.Errorf("table %s has %d rows, want none", table, n)
		}
	}
}

func rows(t *testing.T, s *Stores, table string) (n int64) {
	t.Helper()
	if err := s.fileAt("s.db").runStatement("SELECT count(*) FROM "+table, func(s *sqlite3.Stmt) { n = s.ColumnInt64(0) }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDamagedName checks that a store with a damaged name is reported, and not treated as an empty
// store.
func TestDamagedName(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir})
	do[any](t, s, &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"a"`, "1")}})
	if err := s.fileAt("s.db").runStatement(`UPDATE section SET name = 'z'`, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := "cannot use s.db: it is damaged (the name of the hashmap z differs from the written one) "
	if _, err := s.Perform(context.Background(), &effect.StoreRead{Store: at("hashmap"), Keys: raws(`"a"`)}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
}

// TestMigrate checks that the first use of a file of format 1 adds the checksums and does not
// change the content.
func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range tables {
		if err := c.Exec(formerly(sql)); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{
		`INSERT INTO section (id, kind, name, scope) VALUES (1, 'hashmap', 'x', ''), (2, 'memory', 'x', ''), (3, 'ledger', 'x', '')`,
		`INSERT INTO entry (section, key, value) VALUES (1, '"a"', '1'), (1, '"é"', '{"n":2}')`,
		`INSERT INTO message (section, id, role, content) VALUES (2, 1, 'user', 'hello')`,
		`INSERT INTO record (id, section, identifier, keys, value) VALUES (1, 3, 'Street', '["k"]', 'v')`,
		`INSERT INTO word VALUES (3, 'street', 1)`, `INSERT INTO record_key VALUES (3, 'k', 1)`,
		fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", application),
	} {
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first use migrates the file; the second one uses the migrated file
		s := opened(t, Options{Dir: dir})
		if got := show(do[*effect.StoreEntries](t, s, &effect.StoreList{Store: at("hashmap"), Keys: true, Values: true})); got != `"a"=1 "é"={"n":2}` {
			t.Errorf("entries = %s, want those of format 1", got)
		}
		if got := do[*effect.MemoryMessages](t, s, &effect.MemoryList{Store: at("memory"), Last: -1}).Messages; len(got) != 1 || got[0].Content != "hello" {
			t.Error(got)
		}
		if got := do[*effect.LedgerEntries](t, s, &effect.LedgerFind{Store: at("ledger"), By: "identifier", Texts: []string{"street"}}).Entries; len(got) != 1 || got[0].Value != "v" {
			t.Error(got)
		}
		do[any](t, s, &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"a"`, "1")}})
		if _, version, err := marks(s.fileAt("s.db").conn); err != nil || version != format {
			t.Error(version, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPrivate checks that only the owner of the file can read the file and its log.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("target.db", filepath.Join(dir, "s.db")); err != nil {
		t.Skip(err)
	}
	s := opened(t, Options{Dir: dir})
	do[any](t, s, &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"a"`, "1")}})
	for _, name := range []string{"target.db", "target.db-wal"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(name, info, err)
		}
	}
}

// FuzzFile opens files with arbitrary bytes. Every request must succeed or fail with an error that
// the program can catch, and a refused file must not change.
func FuzzFile(f *testing.F) {
	good := sample(f)
	f.Add(uint32(60), []byte{0, 0, 0, 2})
	f.Add(uint32(4096), []byte{5, 0, 0})
	f.Add(uint32(0), []byte("SQLite format 3"))
	f.Fuzz(func(t *testing.T, at uint32, noise []byte) {
		data := bytes.Clone(good)
		copy(data[int(at)%len(data):], noise)
		dir := t.TempDir()
		path := filepath.Join(dir, "s.db")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		s := New(Options{Dir: dir})
		opens := s.fileAt("s.db").openFile(context.Background()) == nil
		for _, r := range requests() {
			_, err := s.Perform(context.Background(), r)
			var e *effect.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%s: error %v, want an *effect.Error", r.Kind(), err)
			}
			if now, _ := os.ReadFile(path); !opens && (err == nil || !bytes.Equal(now, data)) {
				t.Fatalf("%s: error %v for a file that cannot be opened, want an error and an unchanged file", r.Kind(), err)
			}
		}
		_ = s.Close() // closing a damaged file may fail
	})
}
