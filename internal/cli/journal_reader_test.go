package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// otherReader is an independent reader of a run's directory. It follows spec/journal.md and shares
// no code with package journal.
type otherReader struct {
	records []map[string]json.RawMessage
	torn    int    // number of incomplete bytes at the end that are ignored
	damage  string // position of the damage: "FILE:LINE", or a file; "" if there is none
	none    bool   // the directory contains no run
	last    int    // number of the last record
}

const startHash = "00000000000000000000000000000000"

func readOther(t *testing.T, dir string) *otherReader {
	t.Helper()
	r := &otherReader{}
	names, err := filepath.Glob(filepath.Join(dir, "journal-[0-9][0-9][0-9][0-9][0-9][0-9].ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	first, before := r.head(t, dir)
	if r.damage != "" {
		return r
	}
	for len(names) > 0 && filepath.Base(names[0]) < fmt.Sprintf("journal-%06d.ndjson", first) {
		names = names[1:]
	}
	if len(names) == 0 && r.last > 0 {
		names = []string{""}
	}
	for i, name := range names {
		if want := fmt.Sprintf("journal-%06d.ndjson", first+i); filepath.Base(name) != want {
			r.damage = want
			return r
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if before = r.file(filepath.Base(name), text, before, i == len(names)-1); r.damage != "" {
			return r
		}
	}
	r.none = len(r.records) == 0
	for _, x := range r.records {
		if sum := member(x, "blob"); sum != "" {
			text, err := os.ReadFile(filepath.Join(dir, "blobs", sum))
			if own := sha256.Sum256(text); err != nil || hex.EncodeToString(own[:]) != sum {
				r.damage = "blobs/" + sum
			}
		}
	}
	return r
}

// head reads head.json, which describes the dropped files. It returns the number of the first
// remaining file and the hash that precedes its first record.
func (r *otherReader) head(t *testing.T, dir string) (first int, before string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "head.json"))
	if errors.Is(err, os.ErrNotExist) {
		return 1, startHash
	}
	open, stated, found := bytes.Cut(text, []byte(`,"sum":"`))
	for bytes.Contains(stated, []byte(`,"sum":"`)) { // the last one counts
		more, rest, _ := bytes.Cut(stated, []byte(`,"sum":"`))
		open, stated = append(append(bytes.Clone(open), `,"sum":"`...), more...), rest
	}
	var head struct {
		Format, Segment, S int
		H                  string
		Records            []map[string]json.RawMessage
	}
	sum := sha256.Sum256(open)
	if err != nil || !found || string(stated) != hex.EncodeToString(sum[:])+"\"}\n" || json.Unmarshal(text, &head) != nil || head.Format != 1 {
		r.damage = "head.json"
		return 0, ""
	}
	r.records, r.last = head.Records, head.S
	return head.Segment, head.H
}

// file reads a file of the journal. before is the hash of the preceding record. It returns the hash
// of the file's last record.
func (r *otherReader) file(name string, text []byte, before string, last bool) string {
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		x, hash := readLine(line, before)
		switch {
		case x == nil || !whole, member(x, "s") != fmt.Sprint(r.last+1), r.last == 0 && member(x, "k") != "start":
			if last && tornAt(line, rest) {
				r.torn = len(text)
			} else {
				r.damage = fmt.Sprintf("%s:%d", name, n)
			}
			return before
		}
		r.records, before, text = append(r.records, x), hash, rest
		r.last++
	}
	return before
}

// readLine decodes a record. It returns nil if the record's hash is not the hash of before and the
// record.
func readLine(line []byte, before string) (x map[string]json.RawMessage, hash string) {
	open, stated := statedOf(line)
	sum := sha256.Sum256(append([]byte(before), open...))
	if hash = hex.EncodeToString(sum[:16]); hash != stated || json.Unmarshal(line, &x) != nil {
		return nil, ""
	}
	return x, hash
}

// statedOf returns the bytes of a line up to its hash, and the hash.
func statedOf(line []byte) (open []byte, hash string) {
	at := bytes.LastIndex(line, []byte(`,"h":"`))
	if at < 0 {
		return nil, ""
	}
	hash, _, _ = strings.Cut(string(line[at+len(`,"h":"`):]), `"`)
	return line[:at], hash
}

// tornAt reports whether the data from the record bad on may be ignored as an incomplete write: no
// later record has the right hash, or none of those is marked as synced (field y).
func tornAt(bad, rest []byte) bool {
	_, before := statedOf(bad)
	follows, synced := false, false
	for line := range bytes.SplitSeq(rest, []byte("\n")) {
		if x, _ := readLine(line, before); x != nil {
			follows, synced = true, synced || member(x, "y") == "true"
		}
		_, before = statedOf(line)
	}
	return !follows || !synced
}

// member returns a field of a record as text. A string has no quotes.
func member(x map[string]json.RawMessage, name string) string {
	var s string
	if json.Unmarshal(x[name], &s) == nil {
		return s
	}
	return string(x[name])
}

// TestJournalIsAsWritten checks that otherReader, which follows only spec/journal.md, decodes
// recorded runs and a run with many files.
func TestJournalIsAsWritten(t *testing.T) {
	for _, dir := range []string{filepath.Join("testdata", "kept", "engine1", "finished"), filepath.Join("testdata", "kept", "engine2", "parked"), manySegments(t, 0), manySegments(t, 20)} {
		r := readOther(t, dir)
		if r.torn > 0 || r.damage != "" || r.none {
			t.Fatalf("%s: %d truncated bytes, damage at %q; want an intact journal", dir, r.torn, r.damage)
		}
		h, err := rundir.At(dir).Read()
		if err != nil || len(h.Records) != len(r.records) || h.N != uint64(r.last) {
			t.Fatalf("%s: this reader finds %d records, package journal %d (error %v)", dir, len(r.records), len(h.Records), err)
		}
		begun, secrets, at := map[string]bool{}, map[string]bool{}, "0"
		for i, x := range r.records {
			if len(member(x, "t")) < len(at) || len(member(x, "t")) == len(at) && member(x, "t") < at {
				t.Errorf("%s: record %d has an earlier time than its predecessor", dir, i+1)
			}
			at = member(x, "t")
			switch member(x, "k") {
			case "secret":
				secrets[member(x, "name")] = true
			case "begin":
				begun[member(x, "e")] = true
				if d := member(x, "d"); x["r"] != nil && len(d) != 32 || x["r"] == nil && d != "" {
					t.Errorf("%s: record %d: field d = %q, want 32 digits exactly if there is a field r", dir, i+1, d)
				}
			case "end":
				if !begun[member(x, "e")] || !slices.Contains([]string{"done", "none", "unknown"}, member(x, "x")) {
					t.Errorf("%s: record %d ends an effect without a begin record, or has the invalid x %q", dir, i+1, member(x, "x"))
				}
			}
			for _, part := range strings.Split(string(x["v"])+string(x["r"]), "«secret:")[1:] {
				name, _, _ := strings.Cut(part, "»")
				if name, _, _ = strings.Cut(name, ":"); !secrets[name] {
					t.Errorf("%s: record %d contains the placeholder of secret %s, which no earlier record declares", dir, i+1, name)
				}
			}
		}
	}
}

// counting is a digest of dropped records that contains only their number.
type counting struct{ n int }

func (h *counting) Restore([]byte) error    { return nil }
func (h *counting) Add(*journal.Record)     { h.n++ }
func (h *counting) Encode() ([]byte, error) { return fmt.Appendf(nil, "%d", h.n), nil }

// manySegments creates a journal of several files. It drops the files that end before the record
// numbered drop, or no file if drop is 0.
func manySegments(t *testing.T, drop uint64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "many")
	d := rundir.At(dir)
	d.SegmentBytes = 600
	w, err := d.Create(journal.Start{Run: "r_many", Args: []string{}, Inputs: json.RawMessage("{}"), Session: json.RawMessage("{}"), Flags: json.RawMessage("{}")}, nil, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for e := range int64(30) {
		w.Append(&journal.Record{K: journal.KDid, E: e + 1, Q: "clock", Gave: journal.Gave{V: json.RawMessage(`{"unix_ms":1}`)}})
		if e%7 == 0 {
			if err := w.Flush(journal.Synced); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Append(&journal.Record{K: journal.KSecret, Rest: journal.Rest{Name: "TOKEN", Check: "0123"}})
	err = w.Flush(journal.Synced)
	w.(journal.Dropper).Drop(drop, &counting{})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "head.json")); (err == nil) != (drop > 0) {
		t.Fatalf("stat head.json: %v, want the file exactly if records were dropped", err)
	}
	return dir
}

// TestDamagedAtEachByte changes each byte of a journal, and truncates the journal at each byte.
// Both readers must ignore the incomplete end where the format permits it, and otherwise report the
// damage. They must never read different records.
func TestDamagedAtEachByte(t *testing.T) {
	t.Parallel()
	for _, drop := range []uint64{0, 20} {
		damagedAtEachByte(t, manySegments(t, drop), drop > 0)
	}
}

func damagedAtEachByte(t *testing.T, dir string, dropped bool) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "journal-*.ndjson"))
	if err != nil || len(names) < 3 {
		t.Fatalf("journal files = %v (error %v), want at least 3", names, err)
	}
	whole, err := rundir.At(dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	names = []string{names[0], names[1], names[len(names)-1]}
	if dropped {
		names = []string{filepath.Join(dir, "head.json"), names[0]}
	}
	every := 1
	if randtest.Raced {
		every = 7 // the readers use one goroutine, so the race detector finds nothing
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(text); at += every {
			for _, b := range []byte{text[at] ^ 1, '\n'} {
				changed := bytes.Clone(text)
				if changed[at] = b; b != text[at] {
					damagedAt(t, dir, name, changed, whole, at)
				}
			}
			damagedAt(t, dir, name, text[:at], whole, at)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// damagedAt compares the results of the two readers with each other, and with the original records.
func damagedAt(t *testing.T, dir, name string, text []byte, whole *journal.History, at int) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	other := readOther(t, dir)
	h, err := rundir.At(dir).Read()
	var damaged *journal.DamagedError
	switch {
	case errors.As(err, &damaged):
		if other.damage != damaged.Where {
			t.Errorf("%s, byte %d: package journal returns %v, the specification's reader finds damage at %q", filepath.Base(name), at, err, other.damage)
		}
	case errors.Is(err, journal.ErrNoRun):
		if !other.none {
			t.Errorf("%s, byte %d: package journal returns %v, the specification's reader finds %d records", filepath.Base(name), at, err, len(other.records))
		}
	case err != nil:
		t.Errorf("%s, byte %d: package journal returns %v", filepath.Base(name), at, err)
	case len(h.Records) != len(other.records) || h.Torn != other.torn || other.damage != "":
		t.Errorf("%s, byte %d: package journal finds %d records and truncates %d bytes, the specification's reader finds %d and truncates %d (damage %q)", filepath.Base(name), at, len(h.Records), h.Torn, len(other.records), other.torn, other.damage)
	default:
		for i, r := range h.Records {
			if r.H != whole.Records[i].H {
				t.Fatalf("%s, byte %d: record %d differs from the original", filepath.Base(name), at, i+1)
			}
		}
	}
}
