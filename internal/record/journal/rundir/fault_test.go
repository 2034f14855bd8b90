package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// faulty is a Files of which one operation fails.
type faulty struct {
	disk.Files
	dir  string
	at   int // number of the failing operation, from 1; 0 for none
	half bool
	ends bool // all later operations fail too, as if the process had exited
	n    int
	done []string // names of the operations so far
}

func newFaulty(t *testing.T) *faulty {
	dir := filepath.Join(t.TempDir(), "run")
	return &faulty{Files: disk.At(dir), dir: dir}
}

func (f *faulty) run() *Directory {
	return On(func(string) disk.Files { return f }, f.dir)
}

// fails counts an operation and reports whether it must fail.
func (f *faulty) fails(what string) bool {
	f.n++
	f.done = append(f.done, what)
	return f.n == f.at || f.ends && f.n > f.at
}

func (f *faulty) Append(name string) (disk.File, int64, error) {
	if f.fails("open") {
		return nil, 0, syscall.ENOSPC
	}
	file, size, err := f.Files.Append(name)
	return &faultyFile{file, f}, size, err
}

func (f *faulty) Put(name string, text []byte) error {
	if f.fails("put") {
		return syscall.ENOSPC
	}
	return os.WriteFile(f.Files.Path(name), text, 0o600) // without a sync, which would be slow
}

func (f *faulty) Remove(name string) error {
	if f.fails("remove") {
		return syscall.EIO
	}
	return f.Files.Remove(name)
}

func (f *faulty) Dir(name string) error {
	if f.fails("mkdir") {
		return syscall.ENOSPC
	}
	return f.Files.Dir(name)
}

func (f *faulty) SyncDir(name string) error {
	if f.fails("syncdir") {
		return syscall.EIO
	}
	return nil
}

type faultyFile struct {
	disk.File
	f *faulty
}

func (x *faultyFile) Write(b []byte) (int, error) {
	if x.f.fails("write") {
		n := 0
		if x.f.half {
			n, _ = x.File.Write(b[:len(b)/2])
		}
		return n, syscall.ENOSPC
	}
	return x.File.Write(b)
}

func (x *faultyFile) Sync() error {
	if x.f.fails("sync") {
		return syscall.EIO
	}
	return nil
}

func (x *faultyFile) Truncate(size int64) error {
	if x.f.fails("truncate") {
		return syscall.EIO
	}
	return x.File.Truncate(size)
}

// scenario writes a run over several files. After an error of Flush it flushes once more, as
// callers may. flushed is the number of records that were flushed without an error.
func scenario(d *Directory) (flushed uint64, begun bool, err error) {
	d.SegmentBytes = 700
	w, err := d.Create(testStart(), []byte("{}"), journal.Options{Now: testClock(), Sync: journal.SyncEvery})
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	flushed = 1
	answered := int64(0)
	for i := range 12 {
		r := &journal.Record{RecordKind: journal.KDid, Effect: int64(i + 1), Kind: "clock", ResultMembers: journal.ResultMembers{Result: fmt.Appendf(nil, `{"unix_ms":%d}`, i)}}
		if i%6 == 2 {
			r.Result = fmt.Appendf(nil, `"%d%s"`, i, strings.Repeat("x", journal.BlobSize))
		}
		if i%4 == 0 {
			answered = r.Effect
			if err := os.WriteFile(d.files.Path(journal.AnswerName(fmt.Sprint("q", i+1))), []byte(`{"value":1,"by":"Ada","at":1}`), 0o600); err != nil {
				return flushed, true, err
			}
		}
		s := w.Append(r)
		if i%4 == 0 {
			w.ConsumeAnswer(fmt.Sprint("q", i+1))
		}
		w.Out(fmt.Sprintf(`{"n":%d,"channel":"x"}`, i+1))
		ferr := w.Flush(journal.Synced)
		if ferr != nil {
			if err := checkOrder(d.path, answered); err != nil {
				return flushed, true, err
			}
			if ferr = w.Flush(journal.Synced); ferr != nil {
				return flushed, true, ferr
			}
		}
		flushed = s
		if journal.IsAnswered(At(d.path), fmt.Sprint("q", i+1)) {
			return flushed, true, fmt.Errorf("%w: the answer of effect %d is stored after Flush", errOrder, i+1)
		}
	}
	return flushed, true, checkOrder(d.path, answered)
}

// errOrder means that the parts of a run were written in the wrong order.
var errOrder = errors.New("wrong order")

// checkOrder checks that a run contains the values that its records name, the records of the
// removed answers, and the records before its output. answered is the last effect that an answer
// was stored for.
func checkOrder(path string, answered int64) error {
	d := At(path)
	out, _, err := d.Out()
	if err != nil {
		return err
	}
	h, err := d.Read()
	if err != nil {
		return err
	}
	last := int64(0)
	for _, r := range h.Records {
		last = max(last, r.Effect)
		if r.Blob == "" {
			continue
		}
		if _, err := d.Blob(r.Blob); err != nil {
			return fmt.Errorf("%w: effect %d: %w", errOrder, r.Effect, err)
		}
	}
	if int64(len(out)) > last {
		return fmt.Errorf("%w: %d lines of output, but the last effect is %d", errOrder, len(out), last)
	}
	if answered > last && !journal.IsAnswered(d, fmt.Sprint("q", answered)) {
		return fmt.Errorf("%w: the answer of effect %d was removed, but the effect is not written", errOrder, answered)
	}
	return nil
}

// TestFaults makes each file operation fail once, completely or after half of its work. Afterwards
// the journal must contain all flushed records in order, and the run must be resumable.
func TestFaults(t *testing.T) {
	count := newFaulty(t)
	if _, _, err := scenario(count.run()); err != nil {
		t.Fatal(err)
	}
	if count.n < 30 {
		t.Fatalf("the run made %d operations, want at least 30: %v", count.n, count.done)
	}
	for _, half := range []bool{false, true} {
		for at := 1; at <= count.n; at++ {
			f := newFaulty(t)
			f.at, f.half = at, half
			flushed, begun, err := scenario(f.run())
			if errors.Is(err, errOrder) {
				t.Error(err)
			}
			what := fmt.Sprintf("operation %d (%s), half %v", at, f.done[at-1], half)
			h, rerr := At(f.dir).Read()
			if !begun {
				if err == nil {
					t.Errorf("%s: creating the run returned no error", what)
				}
				if w, cerr := At(f.dir).Create(testStart(), []byte("{}"), journal.Options{}); cerr == nil {
					_ = w.Close()
				} else if exists := (*journal.ExistsError)(nil); !errors.As(cerr, &exists) {
					t.Errorf("%s: Create in the same directory: %v", what, cerr)
				}
				continue
			}
			if rerr != nil {
				t.Errorf("%s: Read: %v", what, rerr)
				continue
			}
			if uint64(len(h.Records)) < flushed {
				t.Errorf("%s: the journal has %d records, want at least the %d flushed ones", what, len(h.Records), flushed)
			}
			w, _, oerr := At(f.dir).Open(nil, journal.Options{})
			if oerr != nil {
				t.Errorf("%s: Open: %v", what, oerr)
				continue
			}
			w.Append(&journal.Record{RecordKind: journal.KResume, Owner: journal.Owner{N: 2}})
			if err := errors.Join(w.Flush(journal.Synced), w.Close()); err != nil {
				t.Errorf("%s: writing after the fault: %v", what, err)
			}
			if h, err := At(f.dir).Read(); err != nil || h.Last().RecordKind != journal.KResume {
				t.Errorf("%s: Read after writing: %v or another last record", what, err)
			}
			out, _, oerr := At(f.dir).Out()
			for i, line := range out {
				if line != fmt.Sprintf(`{"n":%d,"channel":"x"}`, i+1) {
					t.Errorf("%s: line %d of the output = %s, error %v", what, i+1, line, oerr)
					break
				}
			}
		}
	}
}
