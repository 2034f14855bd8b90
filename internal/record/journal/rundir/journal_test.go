package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/hexsum"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// testClock returns a clock that counts its readings, so that all runs of a test write the same
// times.
func testClock() func() int64 {
	n := int64(1_700_000_000_000)
	return func() int64 { n++; return n }
}

func testStart() journal.Start {
	return journal.Start{Run: "r_0123456789abcdef", Program: "main.conc", IR: hexsum.SHA256([]byte("{}")), Engine: 1, Args: []string{}, Inputs: []byte("{}"), Session: []byte("{}"), Seed: "1", Flags: []byte("{}")}
}

// writeRun creates a run with the given number of effects, and syncs after some of them.
func writeRun(t *testing.T, d *Directory, o journal.Options, records int) {
	t.Helper()
	o.Now = testClock()
	w, err := d.Create(testStart(), []byte("{}"), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		w.Append(&journal.Record{RecordKind: journal.KDid, Effect: int64(i + 1), Kind: "clock", ResultMembers: journal.ResultMembers{Result: fmt.Appendf(nil, `{"unix_ms":%d}`, i)}})
		level := journal.Written
		if i%2 == 1 {
			level = journal.Synced
		}
		if err := w.Flush(level); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func readFirst(t *testing.T, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, journal.SegmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// isPrefix reports whether the records some are the first of the records all.
func isPrefix(some, all []*journal.Record) bool {
	return len(some) <= len(all) && slices.EqualFunc(some, all[:len(some)], func(a, b *journal.Record) bool { return a.Hash == b.Hash })
}

// TestDamagedAtEachByte changes each byte of a journal. Read must return only records that were
// written, and must report the damage of a synced record.
func TestDamagedAtEachByte(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, At(dir), journal.Options{}, 6)
	whole, err := At(dir).Read()
	if err != nil || len(whole.Records) != 7 {
		t.Fatal(whole, err)
	}
	text := readFirst(t, dir)
	lastSynced := 0
	for i, r := range whole.Records {
		if r.Synced {
			lastSynced = i
		}
	}
	if lastSynced == 0 {
		t.Fatal("no record has the member y, which states that earlier records are synced")
	}
	for at := range text {
		bad := bytes.Clone(text)
		bad[at] ^= 1
		if err := os.WriteFile(filepath.Join(dir, journal.SegmentName(1)), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		line := bytes.Count(text[:at], []byte("\n"))
		h, err := At(dir).Read()
		damaged, is := errors.AsType[*journal.DamagedError](err)
		switch {
		case err == nil && !isPrefix(h.Records, whole.Records):
			t.Fatalf("byte %d (%q) changed: Read returned records that were not written", at, text[at])
		case err == nil && len(h.Records) > line:
			t.Fatalf("byte %d (%q) of line %d changed: Read returned %d records", at, text[at], line+1, len(h.Records))
		case err == nil && line < lastSynced-1:
			t.Fatalf("byte %d of line %d changed: Read regards a synced record as incomplete", at, line+1)
		case err != nil && !is && !errors.Is(err, journal.ErrNoRun):
			t.Fatalf("byte %d changed: error = %v", at, err)
		case is && !strings.HasPrefix(damaged.Error(), "damaged: journal-000001.ndjson:"):
			t.Fatal(damaged)
		}
	}
}

// TestTornAtEachByte cuts a journal off at each byte. Open must keep all complete records, and the
// run must be resumable.
func TestTornAtEachByte(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, At(dir), journal.Options{}, 4)
	whole, err := At(dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	text := readFirst(t, dir)
	for size := range text {
		if err := os.WriteFile(filepath.Join(dir, journal.SegmentName(1)), text[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		w, h, err := At(dir).Open(nil, journal.Options{Now: testClock()})
		lines := bytes.Count(text[:size], []byte("\n"))
		if lines == 0 {
			if !errors.Is(err, journal.ErrNoRun) {
				t.Fatalf("journal of %d bytes: error = %v, want ErrNoRun", size, err)
			}
			continue
		}
		if err != nil || len(h.Records) != lines || !isPrefix(h.Records, whole.Records) {
			t.Fatalf("journal of %d bytes: Open read %d records, want %d; error %v", size, len(h.Records), lines, err)
		}
		w.Append(&journal.Record{RecordKind: journal.KResume, Owner: journal.Owner{N: 2}})
		if err := errors.Join(w.Flush(journal.Written), w.Close()); err != nil {
			t.Fatal(err)
		}
		if h, err = At(dir).Read(); err != nil || h.Torn != 0 || len(h.Records) != lines+1 || h.Last().RecordKind != journal.KResume {
			t.Fatalf("journal of %d bytes, resumed: history = %+v, error %v", size, h, err)
		}
	}
}

// TestSegments writes a journal over several files. Their records form one chain, and a missing
// file is damage.
func TestSegments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d := At(dir)
	d.SegmentBytes = 600
	writeRun(t, d, journal.Options{}, 30)
	h, err := At(dir).Read()
	if err != nil || len(h.Segments) < 4 {
		t.Fatal(h, err)
	}
	n := 0
	for _, r := range h.Records {
		if r.RecordKind == journal.KDid {
			n++
		}
	}
	if n != 30 {
		t.Errorf("Read returned %d effects, want 30", n)
	}
	first, err := os.ReadFile(filepath.Join(dir, journal.SegmentName(2)))
	if err != nil || !bytes.Contains(first[:bytes.IndexByte(first, '\n')], []byte(`"k":"segment"`)) {
		t.Errorf("second file = %s, error %v, want a segment record first", first, err)
	}
	if err := os.Rename(filepath.Join(dir, journal.SegmentName(2)), filepath.Join(dir, "kept")); err != nil {
		t.Fatal(err)
	}
	if _, err := At(dir).Read(); err == nil || err.Error() != "damaged: journal-000002.ndjson: the file is missing" {
		t.Error(err)
	}
}

// TestBlobs checks that a large value is stored in a separate file, whose name is the hash of its
// content.
func TestBlobs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := At(dir).Create(testStart(), []byte("{}"), journal.Options{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	large := []byte(`"` + strings.Repeat("x", journal.BlobSize) + `"`)
	w.Append(&journal.Record{RecordKind: journal.KDid, Effect: 1, Kind: "fs.read", ResultMembers: journal.ResultMembers{Result: large}})
	if err := errors.Join(w.Flush(journal.Written), w.Close()); err != nil {
		t.Fatal(err)
	}
	h, err := At(dir).Read()
	if err != nil || h.Last().Result != nil || h.Last().Blob != hexsum.SHA256(large) {
		t.Fatal(h.Last(), err)
	}
	if text, err := At(dir).Blob(hexsum.SHA256(large)); err != nil || !bytes.Equal(text, large) {
		t.Error(len(text), err)
	}
	if err := os.WriteFile(filepath.Join(dir, blobs, hexsum.SHA256(large)), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := At(dir).Blob(hexsum.SHA256(large)); err == nil || !strings.HasSuffix(err.Error(), "its content does not match its name") {
		t.Error(err)
	}
}

// TestRunHasOneProcess checks that only one process at a time can open a run. The error must
// contain the process that runs it.
func TestRunHasOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := At(dir).Create(testStart(), []byte("{}"), journal.Options{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = At(dir).Open(nil, journal.Options{})
	if held, ok := errors.AsType[*journal.HeldError](err); !ok || held.PID != os.Getpid() || held.Run != testStart().Run {
		t.Error(err)
	}
	if running, err := At(dir).IsRunning(); !running || err != nil {
		t.Error(running, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if running, err := At(dir).IsRunning(); running || err != nil {
		t.Error(running, err)
	}
	if _, err := At(dir).Create(testStart(), []byte("{}"), journal.Options{}); err == nil {
		t.Error("Create in the directory of a run returned no error")
	}
}

// TestFirstAnswerWins checks that a second answer to a question does not replace the first one.
func TestFirstAnswerWins(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, At(dir), journal.Options{}, 0)
	d := At(dir)
	if err := d.PutAnswer("q7", journal.Answer{Value: []byte(`"yes"`), By: "Ada", At: 5}); err != nil {
		t.Fatal(err)
	}
	if err := d.PutAnswer("q7", journal.Answer{Value: []byte(`"no"`), By: "Bob", At: 6}); !reflect.DeepEqual(err, &journal.AnsweredError{By: "Ada", At: 5}) {
		t.Error(err)
	}
	if a, err := d.Answer("q7"); err != nil || a.By != "Ada" || string(a.Value) != `"yes"` {
		t.Error(a, err)
	}
	if err := errors.Join(d.DropAnswer("q7"), d.DropAnswer("q7")); err != nil {
		t.Error(err)
	}
	if a, err := d.Answer("q7"); a != nil || err != nil {
		t.Error(a, err)
	}
}

// slowFiles are files of which one sync, the next one when waits is set, ends after released is
// closed.
type slowFiles struct {
	disk.Files
	waits    atomic.Bool
	syncs    chan struct{} // receives a value when that sync begins
	released chan struct{}
}

func (f *slowFiles) Append(name string) (disk.File, int64, error) {
	file, size, err := f.Files.Append(name)
	return &slowFile{file, f}, size, err
}

type slowFile struct {
	disk.File
	f *slowFiles
}

func (x *slowFile) Sync() error {
	if x.f.waits.CompareAndSwap(true, false) {
		x.f.syncs <- struct{}{}
		<-x.f.released
	}
	return x.File.Sync()
}

// TestConsumedWhileSyncing flushes the record of a consumed answer while an earlier Flush still
// syncs it. The answer must stay until the record is on the disk, because the removal could reach
// the disk earlier.
func TestConsumedWhileSyncing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	files := &slowFiles{Files: disk.At(dir), syncs: make(chan struct{}), released: make(chan struct{})}
	d := At(dir)
	d.files = files
	w, err := d.Create(testStart(), []byte("{}"), journal.Options{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.PutAnswer("q7", journal.Answer{Value: []byte(`"yes"`), By: "Ada", At: 5}); err != nil {
		t.Fatal(err)
	}
	w.Append(&journal.Record{RecordKind: journal.KDid, Effect: 7, Kind: "clock", ResultMembers: journal.ResultMembers{Result: []byte(`1`)}})
	w.ConsumeAnswer("q7")
	files.waits.Store(true)
	synced := make(chan error)
	go func() { synced <- w.Flush(journal.Synced) }()
	<-files.syncs
	if err := w.Flush(journal.Written); err != nil {
		t.Error(err)
	}
	if a, err := d.Answer("q7"); a == nil || err != nil {
		t.Errorf("the answer is removed before its record is on the disk: error %v", err)
	}
	close(files.released)
	if err := <-synced; err != nil {
		t.Error(err)
	}
	if a, err := d.Answer("q7"); a != nil || err != nil {
		t.Errorf("the answer is stored after its record was synced: %v, error %v", a != nil, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestTornOut checks that new output is not appended to an incomplete last line of the output file.
func TestTornOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, At(dir), journal.Options{}, 1)
	for _, torn := range []string{`{"n":2`, `{"n":2,"channel":"a"}`, ""} {
		if err := os.WriteFile(filepath.Join(dir, journal.OutFile), []byte("{\"n\":1}\n"+torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if lines, n, err := At(dir).Out(); err != nil || len(lines) != 1 || n != len(torn) {
			t.Fatalf("Out returned %d lines and %d incomplete bytes, error %v", len(lines), n, err)
		}
		w, _, err := At(dir).Open(nil, journal.Options{Now: testClock()})
		if err != nil {
			t.Fatal(err)
		}
		w.Out(`{"n":2}`)
		if err := errors.Join(w.Flush(journal.Written), w.Close()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, journal.OutFile))
		if err != nil || string(text) != "{\"n\":1}\n{\"n\":2}\n" {
			t.Errorf("output after the incomplete line %q = %q, error %v", torn, text, err)
		}
	}
}

// TestAnswerAtEachByte changes and removes each byte of an answer. Reading it must report the
// damage. An answer of an older version, without a checksum, must be readable.
func TestAnswerAtEachByte(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, At(dir), journal.Options{}, 1)
	d := At(dir)
	want := journal.Answer{Value: []byte(`{"a":[1,"x"]}`), By: "Ada", At: 1_700_000_000_000}
	if err := d.PutAnswer("q7", want); err != nil {
		t.Fatal(err)
	}
	got, err := d.Answer("q7")
	if err != nil || string(got.Value) != string(want.Value) || got.By != want.By || got.At != want.At {
		t.Fatal(got, err)
	}
	path := filepath.Join(dir, journal.AnswerName("q7"))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := func(what string, at int, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Answer("q7"); !errors.As(err, new(*journal.DamagedError)) {
			t.Errorf("answer with byte %d %s, %q: error = %v", at, what, text, err)
		}
		if _, err := d.Answers(); !errors.As(err, new(*journal.DamagedError)) {
			t.Errorf("answer with byte %d %s: error of Answers = %v", at, what, err)
		}
	}
	for at := range text {
		for bit := range 8 {
			other := bytes.Clone(text)
			other[at] ^= 1 << bit
			bad("is another one", at, other)
		}
		bad("and all behind it are missing", at, text[:at])
	}
	bad("is followed by something", len(text), append(bytes.Clone(text), "{}"...))
	if err := os.WriteFile(path, []byte(`{"refuse":"no","by":"Ada","at":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := d.Answers(); err != nil || *all["q7"].Refuse != "no" {
		t.Error(all, err)
	}
}
