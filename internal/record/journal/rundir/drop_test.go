package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// tally is a DropSummary that stores the numbers of all effects.
type tally struct{ records []int64 }

func (k *tally) Restore(rest []byte) error {
	for text := range strings.SplitSeq(strings.Trim(string(rest), "[]"), ",") {
		var e int64
		if _, err := fmt.Sscan(text, &e); err != nil {
			return err
		}
		k.records = append(k.records, e)
	}
	return nil
}

func (k *tally) Add(r *journal.Record) {
	if r.K == journal.KDid {
		k.records = append(k.records, r.E)
	}
}

func (k *tally) Encode() ([]byte, error) {
	return []byte(strings.ReplaceAll(fmt.Sprint(k.records), " ", ",")), nil
}

// effects returns the numbers of all effects of a history, including dropped ones.
func effects(t *testing.T, h *journal.History) []int64 {
	t.Helper()
	k := &tally{}
	if h.Head != nil {
		if err := k.Restore(h.Head.Rest); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range h.Records {
		k.Add(r)
	}
	return k.records
}

// writeLong writes n effects over several files. After each effect whose index is in drops, it
// drops all complete files.
func writeLong(d *Directory, n int, drops ...int) error {
	d.SegmentBytes = 700
	x, err := d.Create(testStart(), []byte("{}"), journal.Options{Now: testClock()})
	if err != nil {
		return err
	}
	w := x.(*writer)
	for e := range n {
		if e == 2 {
			w.Append(&journal.Record{K: journal.KSecret, Rest: journal.Rest{Name: "TOKEN", Check: "0123"}})
			w.Append(&journal.Record{K: journal.KResume, Owner: journal.Owner{N: 2}})
		}
		w.Append(&journal.Record{K: journal.KDid, E: int64(e + 1), Q: "clock", Gave: journal.Gave{V: fmt.Appendf(nil, `{"unix_ms":%d}`, e)}})
		if err := w.Flush(journal.Synced); err != nil {
			return errors.Join(err, w.Close())
		}
		if slices.Contains(drops, e) {
			first := 0
			for _, x := range w.ends {
				first = x.N + 1
			}
			if err := w.drop(first, &tally{}); err != nil {
				return errors.Join(err, w.Close())
			}
		}
	}
	return w.Close()
}

// createSegmented creates a run whose files have 700 bytes.
func createSegmented(t *testing.T, dir string) *writer {
	t.Helper()
	d := At(dir)
	d.SegmentBytes = 700
	w, err := d.Create(testStart(), []byte("{}"), journal.Options{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	return w.(*writer)
}

// TestDrop drops the first files of a journal twice. The head must contain the summary of the
// dropped records, the journal must be equal to a complete one, and the run must be resumable.
func TestDrop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := writeLong(At(dir), 40, 20, 35); err != nil {
		t.Fatal(err)
	}
	h, err := At(dir).Read()
	if err != nil || h.Head == nil {
		t.Fatal(h, err)
	}
	if all := effects(t, h); len(all) != 40 || !slices.IsSorted(all) || all[39] != 40 {
		t.Errorf("effects = %v, want 1 to 40", all)
	}
	if h.Start().Run != testStart().Run || h.Records[1].K != journal.KSecret || h.Records[2].K != journal.KResume || h.Owner().N != 2 {
		t.Errorf("first records = %+v, want start, secret and resume", h.Records[:3])
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if err := writeLong(At(whole), 40); err != nil {
		t.Fatal(err)
	}
	all, err := At(whole).Read()
	if err != nil || all.Last().H != h.Last().H || all.N != h.N || all.Ran() != h.Ran() || all.Bytes <= h.Bytes {
		t.Errorf("history after the drop = %+v, complete history = %+v, error %v", h, all, err)
	}
	if names, err := segments(disk(dir)); err != nil || names[0] != h.Head.Segment || names[0] < 3 {
		t.Errorf("remaining files = %v, error %v", names, err)
	}
	for _, r := range all.Records {
		at := journal.From{S: r.S, H: r.H}
		after, err := At(dir).ReadFrom(at)
		if r.S < h.Head.S {
			if !errors.Is(err, journal.ErrOtherRecord) {
				t.Errorf("ReadFrom(record %d): error = %v, want ErrOtherRecord", r.S, err)
			}
			continue
		}
		if err != nil || after.N != h.N || after.Start() == nil {
			t.Errorf("ReadFrom(record %d): error = %v or an incomplete history", r.S, err)
		}
		if _, err := At(dir).ReadFrom(journal.From{S: r.S, H: strings.Repeat("0", 32)}); !errors.Is(err, journal.ErrOtherRecord) {
			t.Errorf("ReadFrom(record %d with another hash): error = %v, want ErrOtherRecord", r.S, err)
		}
	}
	var exists *journal.ExistsError
	if _, err := At(dir).Create(testStart(), []byte("{}"), journal.Options{}); !errors.As(err, &exists) {
		t.Error(err)
	}
	w, _, err := At(dir).Open(nil, journal.Options{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	w.Append(&journal.Record{K: journal.KResume, Owner: journal.Owner{N: 3}})
	if err := errors.Join(w.Flush(journal.Synced), w.Close()); err != nil {
		t.Fatal(err)
	}
	if h, err := At(dir).Read(); err != nil || h.Owner().N != 3 {
		t.Error(h, err)
	}
}

// TestDroppedIsDamaged changes each byte of a head, and removes a later file. Read must report the
// damage.
func TestDroppedIsDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := writeLong(At(dir), 12, 10); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, headName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := range text {
		bad := bytes.Clone(text)
		bad[at] ^= 1
		for _, bad := range [][]byte{bad, text[:at]} {
			if err := os.WriteFile(name, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := At(dir).Read(); !errors.As(err, new(*journal.DamagedError)) || !strings.HasPrefix(err.Error(), "damaged: head.json: ") {
				t.Fatalf("head with byte %d changed: error = %v", at, err)
			}
			if _, err := At(dir).Create(testStart(), []byte("{}"), journal.Options{}); !errors.As(err, new(*journal.DamagedError)) {
				t.Fatalf("head with byte %d changed: error = %v", at, err)
			}
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := At(dir).Read(); err == nil || err.Error() != "damaged: journal-000001.ndjson: the file is missing" {
		t.Error(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := At(dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	for n := h.Head.Segment; n <= h.Segments[len(h.Segments)-1].N; n++ {
		if err := os.Remove(filepath.Join(dir, journal.SegmentName(n))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := At(dir).Read(); err == nil || err.Error() != fmt.Sprintf("damaged: %s: the file is missing", journal.SegmentName(h.Head.Segment)) {
		t.Error(err)
	}
}

// TestDropFaults makes each file operation fail once, or fail together with all later ones. The
// head and the remaining records must then contain all effects, and a later drop must succeed.
func TestDropFaults(t *testing.T) {
	write := func(f *faulty) error { return writeLong(On(f), 40, 20, 35) }
	count := &faulty{disk: disk(filepath.Join(t.TempDir(), "run"))}
	if err := write(count); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(count.done, "remove") || count.n < 60 {
		t.Fatalf("the run made %d operations, want at least 60 with a removal: %v", count.n, count.done)
	}
	for _, ends := range []bool{false, true} {
		for at := 5; at <= count.n; at++ { // the run does not exist before operation 5
			f := &faulty{disk: disk(filepath.Join(t.TempDir(), "run")), at: at, ends: ends}
			if err := write(f); err == nil && ends {
				t.Fatalf("the run returned no error although it ended at operation %d", at)
			}
			what := fmt.Sprintf("operation %d (%s), for good %v", at, f.done[at-1], ends)
			d := On(&faulty{disk: f.disk})
			h, err := d.Read()
			if errors.Is(err, journal.ErrNoRun) && f.flushed() == 0 {
				continue
			}
			if err != nil {
				t.Fatalf("%s: Read: %v", what, err)
			}
			all := effects(t, h)
			for i, e := range all {
				if e != int64(i+1) {
					t.Fatalf("%s: effects = %v, want 1, 2, … without a gap", what, all)
				}
			}
			d.SegmentBytes = 700
			x, h, err := d.Open(nil, journal.Options{Now: testClock()})
			if err != nil {
				t.Fatalf("%s: Open: %v", what, err)
			}
			w := x.(*writer)
			if n := len(w.ends); n > 0 {
				err = w.drop(w.ends[n-1].N+1, &tally{})
			}
			w.Append(&journal.Record{K: journal.KResume, Owner: journal.Owner{N: 3}})
			if err := errors.Join(err, w.Flush(journal.Synced), w.Close()); err != nil {
				t.Fatalf("%s: dropping and writing after the fault: %v", what, err)
			}
			reread, err := d.Read()
			if err != nil || reread.N <= h.N || !slices.Equal(effects(t, reread), all) {
				t.Fatalf("%s: history after another drop = %v, error %v", what, reread, err)
			}
			if names, err := segments(f.disk); err != nil || reread.Head != nil && names[0] != reread.Head.Segment {
				t.Fatalf("%s: remaining files = %v, error %v", what, names, err)
			}
		}
	}
}

// TestDropWhileRead drops files while the journal is read. The history must be complete.
func TestDropWhileRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := createSegmented(t, dir)
	d := On(&droppingFiles{disk(dir), func(name string) {
		if n := len(w.ends); n > 0 && name == journal.SegmentName(w.ends[0].N) {
			if err := w.drop(w.ends[n-1].N+1, &tally{}); err != nil {
				t.Error(err)
			}
			w.ends = nil
		}
	}})
	for e := range int64(60) {
		w.Append(&journal.Record{K: journal.KDid, E: e + 1, Q: "clock", Gave: journal.Gave{V: []byte("{}")}})
		if err := w.Flush(journal.Written); err != nil {
			t.Fatal(err)
		}
		if h, err := d.Read(); err != nil || len(effects(t, h)) != int(e+1) {
			t.Fatalf("history = %v, error %v, want all effects", h, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if h, err := d.Read(); err != nil || h.Head == nil || h.Head.Segment < 4 {
		t.Error(h, err)
	}
}

// droppingFiles calls drop before each file is read.
type droppingFiles struct {
	disk
	drop func(name string)
}

func (f *droppingFiles) Read(name string) ([]byte, error) {
	f.drop(name)
	return f.disk.Read(name)
}

// TestDropBlobs checks that a drop removes the blobs that no remaining record names.
func TestDropBlobs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := createSegmented(t, dir)
	text := func(n int) []byte {
		return fmt.Appendf(nil, "%q", strings.Repeat(string(rune('a'+n)), journal.BlobSize))
	}
	for e := range 12 { // effect 12 has the same value as effect 1, and its record is not written before the drop
		w.Append(&journal.Record{K: journal.KDid, E: int64(e + 1), Q: "fs.read", Gave: journal.Gave{V: text(e % 11)}})
		if e == 11 {
			break
		}
		if err := w.Flush(journal.Written); err != nil {
			t.Fatal(err)
		}
	}
	first := w.ends[1].N + 1
	if err := errors.Join(w.drop(first, &tally{}), w.Flush(journal.Written), w.Close()); err != nil {
		t.Fatal(err)
	}
	h, err := At(dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range h.Records {
		if r.Blob != "" {
			names[r.Blob] = true
			if _, err := At(dir).Blob(r.Blob); err != nil {
				t.Error(err)
			}
		}
	}
	left, err := disk(dir).List(blobs)
	if err != nil || len(left) != len(names) || len(names) < 2 || len(names) > 9 {
		t.Errorf("remaining blobs = %d, named blobs = %d, error %v", len(left), len(names), err)
	}
}
