package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// fixed is a clock that always returns the same time.
func fixed() time.Time { return time.Date(2026, 1, 5, 10, 0, 0, 120_000_000, time.UTC) }

func openLog(t *testing.T, path string, o Options) *Log {
	t.Helper()
	if o.Now == nil {
		o.Now = fixed
	}
	l, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func call(id, args string) Record {
	return Record{Run: "r_1", Kind: KindCall, Actor: Actor{Type: "agent", Name: "Clerk"},
		Subject: json.RawMessage(`{"tool":"x","version":1,"owner":"go","call":"` + id + `","parent":null}`), Data: json.RawMessage(`{"args":` + args + `}`)}
}

func done(id string) Record {
	r := call(id, "{}")
	r.Kind, r.Data = KindDone, json.RawMessage(`{"outcome":"ok","error":null,"duration_ms":3,"output_bytes":1}`)
	return r
}

func appendAll(t *testing.T, l *Log, rs ...Record) {
	t.Helper()
	for _, r := range rs {
		if _, err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// verifyIndependently verifies a log as the definition in the package comment describes, without
// code of the package. It uses a JSON parser only to read the values of hash and prev.
func verifyIndependently(t *testing.T, log string) error {
	t.Helper()
	prev := strings.Repeat("0", 64)
	for i, line := range strings.SplitAfter(log, "\n") {
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			continue
		}
		var r struct{ Hash, Prev string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(strings.Replace(line, `"hash":"`+r.Hash+`",`, "", 1)))
		if fmt.Sprintf("%x", sum) != r.Hash || r.Prev != prev {
			return fmt.Errorf("line %d does not follow the previous one", i+1)
		}
		prev = r.Hash
	}
	return nil
}

// TestDefinition writes records whose contents resemble a log's own members. The log must be valid
// according to the definition.
func TestDefinition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{Version: "1.2.3", Run: "r_1"})
	zeros := strings.Repeat("0", 64)
	appendAll(t, l, call("r_1-1", `{"hash":"","b":1}`), call("r_1-2", `{"a":"\"hash\":\"`+zeros+`\",","hash":"`+zeros+`","z":[{"hash":"x","y":1}]}`),
		call("r_1-3", `{"n":9007199254740993,"ü":"\u2028</é"}`), done("r_1-1"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text := readFile(t, path)
	if err := verifyIndependently(t, text); err != nil {
		t.Fatalf("independent verification: %v; log:\n%s", err, text)
	}
	if !strings.Contains(text, `"n":9007199254740993`) {
		t.Error("the log does not contain all digits of a large integer")
	}
	s, err := Verify(strings.NewReader(text), "audit.log", "")
	if err != nil || s.Records != 6 || s.Calls != 3 || s.Unfinished != 2 || s.Head != l.Head() {
		t.Errorf("Verify = %+v, %v, want 6 records, 3 calls, 2 unfinished", s, err)
	}
	first, _, _ := strings.Cut(text, "\n")
	hash := first[strings.Index(first, `"hash":"`)+8:][:64]
	if want := `{"actor":{"name":"concerto","type":"runtime"},"data":{"torn_bytes":0,"version":"1.2.3"},"hash":"` + hash + `","kind":"open","prev":"` + zeros +
		`","run":"r_1","seq":1,"subject":{},"time":"2026-01-05T10:00:00.120Z"}`; first != want {
		t.Errorf("first line =\n%s\nwant\n%s", first, want)
	}
	if got := s.String(); got != fmt.Sprintf("6 records, 3 calls, 2 unfinished, head %s", l.Head().Hash) {
		t.Error(got)
	}
}

// TestEveryChangeIsDetected checks that Verify detects each kind of change and names the changed
// line.
func TestEveryChangeIsDetected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	appendAll(t, l, call("1", `{"sql":"drop"}`), done("1"), call("2", "{}"), done("2"))
	text := readFile(t, path)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	join := func(l ...string) string { return strings.Join(l, "") }
	for name, c := range map[string]struct {
		log, want string
	}{
		"changed":   {strings.Replace(text, "drop", "read", 1), "f:2: seq 2: the record was changed: its hash is not "},
		"missing":   {join(lines[0], lines[2], lines[3], lines[4]), "f:2: seq 3: expected seq 2: a record is missing or twice there"},
		"swapped":   {join(lines[1], lines[0]), "f:1: seq 2: expected seq 1"},
		"twice":     {join(lines[0], lines[1], lines[1]), "f:3: seq 2: expected seq 3"},
		"spaced":    {strings.Replace(text, `"seq":2,`, `"seq": 2,`, 1), "f:2: seq 2: the record is not in canonical form"},
		"torn":      {text[:len(text)-3], "f:5: seq 5: the last line is cut off"},
		"garbage":   {join(lines[0], "{}x\n"), "f:2: seq 2: "},
		"no record": {join(lines[0], "hello\n"), "f:2: seq 2: not a record: "},
		"more":      {join(lines[0], strings.Replace(lines[1], `{"actor"`, `{"a":1,"actor"`, 1)), "f:2: seq "},
		"twin":      {join(lines[0], strings.Replace(lines[1], `"kind"`, `"kind":"call","kind"`, 1)), "f:2: seq 2: the record is not in canonical form"},
	} {
		_, err := Verify(strings.NewReader(c.log), "f", "")
		broken := &BrokenError{}
		if !errors.As(err, &broken) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want prefix %q", name, err, c.want)
		}
	}
	// A record with a correct hash of its own text is invalid if prev is not the hash of the
	// previous record.
	forged, err := call("1", `{"sql":"read"}`).line(start, fixed())
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(forged.Text), `"seq":1`, `"seq":2`, 1)
	other = strings.Replace(other, `"hash":"`+forged.Hash+`",`, "", 1)
	other = strings.Replace(other, `"kind"`, `"hash":"`+hexsum.SHA256([]byte(other))+`","kind"`, 1)
	if _, err := Verify(strings.NewReader(lines[0]+other+"\n"), "f", ""); err == nil || !strings.HasPrefix(err.Error(), "f:2: seq 2: prev is 000000000000…") {
		t.Error(err)
	}
}

// TestHead verifies logs against the hash of an earlier last record. A log whose last records were
// cut off is invalid. A log that has grown is valid.
func TestHead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	appendAll(t, l, call("1", "{}"), done("1"))
	head, text := l.Head(), readFile(t, path)
	appendAll(t, l, call("2", "{}"))
	for _, log := range []string{text, readFile(t, path)} {
		if _, err := Verify(strings.NewReader(log), "f", head.Hash); err != nil {
			t.Error(err)
		}
	}
	cutOff := text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
	if _, err := Verify(strings.NewReader(cutOff), "f", ""); err != nil {
		t.Error(err)
	}
	if _, err := Verify(strings.NewReader(cutOff), "f", head.Hash); err == nil ||
		err.Error() != "f:2: seq 2: no record has the hash "+head.Hash+": the end of the log was cut off, or this is another log" {
		t.Error(err)
	}
}

// TestIncompleteRecordIsCut opens a log that ends with an incomplete record. Open must remove the
// record and count its bytes.
func TestIncompleteRecordIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	appendAll(t, l, call("1", "{}"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole := readFile(t, path)
	if err := os.WriteFile(path, []byte(whole+`{"actor":{"na`), 0o600); err != nil {
		t.Fatal(err)
	}
	openLog(t, path, Options{})
	text := readFile(t, path)
	if !strings.HasPrefix(text, whole) || !strings.Contains(text[len(whole):], `"data":{"torn_bytes":13,"version":""}`) {
		t.Error(text)
	}
	if err := verifyIndependently(t, text); err != nil {
		t.Error(err)
	}
}

// TestOtherFileIsUnchanged opens files that are not logs. Open must return an error and leave them
// unchanged, even if the file has no newline at its end.
func TestOtherFileIsUnchanged(t *testing.T) {
	for name, text := range map[string]string{
		"a note":     "do not lose this",
		"JSON":       `{"name":"x"}`,
		"NUL bytes":  strings.Repeat("\x00", 5000),
		"an object":  `{"actor":[`,
		"two lines":  "one\ntwo",
		"a log's, 2": "",
	} {
		path := filepath.Join(t.TempDir(), "file")
		if text == "" { // means a complete record, followed by another text
			l := openLog(t, path, Options{})
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			text = readFile(t, path) + "a note"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, Options{})
		if broken := (&BrokenError{}); !errors.As(err, &broken) || !strings.Contains(err.Error(), "not a record: ") {
			t.Errorf("%s: error of Open = %v, want a BrokenError", name, err)
		}
		if got := readFile(t, path); got != text {
			t.Errorf("%s: Open changed the file to %q", name, got)
		}
	}
}

// TestTornByPowerCut opens a log that ends with NUL bytes, which a power failure can cause.
func TestTornByPowerCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(readFile(t, path)+strings.Repeat("\x00", 300)), 0o600); err != nil {
		t.Fatal(err)
	}
	openLog(t, path, Options{})
	if err := verifyIndependently(t, readFile(t, path)); err != nil || !strings.Contains(readFile(t, path), `"torn_bytes":300`) {
		t.Error(err, readFile(t, path))
	}
}

// TestBrokenIsRefused opens a log with a changed record. Open must return an error and leave the
// file unchanged.
func TestBrokenIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	appendAll(t, l, call("1", `{"n":1}`))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(readFile(t, path), `{"n":1}`, `{"n":2}`, 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, Options{})
	broken := &BrokenError{}
	if !errors.As(err, &broken) || broken.Line != 2 || broken.Seq != 2 {
		t.Errorf("error of Open = %v, want a BrokenError in line 2", err)
	}
	if readFile(t, path) != changed {
		t.Error("Open changed the broken log")
	}
}

// TestLocked opens a log in a second process. The error must contain the id of the first process.
// After the first process has closed the log, Open succeeds.
func TestLocked(t *testing.T) {
	if path := os.Getenv("AUDIT_TEST_OPEN"); path != "" {
		_, err := Open(path, Options{})
		fmt.Printf("%v\n", err)
		os.Exit(0)
	}
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	other := func() string {
		c := exec.Command(os.Args[0], "-test.run=^TestLocked$")
		c.Env = append(os.Environ(), "AUDIT_TEST_OPEN="+path)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	want := fmt.Sprintf("audit log %s is being written by process %d", path, os.Getpid())
	if _, err := os.Stat("/proc/locks"); err != nil {
		want = fmt.Sprintf("audit log %s is being written by another process", path)
	}
	if got := other(); got != want {
		t.Errorf("error of the other process = %s, want %s", got, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := other(); got != "<nil>" {
		t.Error(got)
	}
}

// faulty is a file whose operations fail with the given errors, if they are set.
type faulty struct {
	File
	write, sync, truncate error
	short                 int // number of bytes that a failing write writes
}

func (f *faulty) Write(b []byte) (int, error) {
	if f.write == nil {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:min(f.short, len(b))])
	return n, errors.Join(err, f.write)
}

func (f *faulty) Sync() error { return errors.Join(f.sync, f.File.Sync()) }

func (f *faulty) Truncate(n int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.File.Truncate(n)
}

// TestFullDisk appends records while the disk is full. Each Append must return an error and leave
// no part of the record. After space is available, Append must succeed.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	f := &faulty{}
	l := openLog(t, path, Options{SyncEach: true, Wrap: func(x File) File { f.File = x; return f }})
	appendAll(t, l, call("1", "{}"))
	for _, short := range []int{0, 1, 40} {
		f.write, f.short = syscall.ENOSPC, short
		if _, err := l.Append(call("2", "{}")); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
			t.Errorf("error of Append = %v, want ENOSPC with the path", err)
		}
	}
	f.write = nil
	appendAll(t, l, call("3", "{}"))
	s, err := Verify(strings.NewReader(readFile(t, path)), "f", "")
	if err != nil || s.Records != 3 {
		t.Errorf("Verify = %+v, %v, want 3 records", s, err)
	}
}

// silent is a file that writes half of the bytes and returns no error.
type silent struct{ File }

func (f silent) Write(b []byte) (int, error) { return f.File.Write(b[:len(b)/2]) }

// TestUnknownEnd checks that nothing is written after a failure that leaves the end of the log
// unknown.
func TestUnknownEnd(t *testing.T) {
	for name, break1 := range map[string]func(f *faulty){
		"sync":     func(f *faulty) { f.sync = syscall.EIO },
		"truncate": func(f *faulty) { f.write, f.short, f.truncate = syscall.EIO, 5, syscall.EIO },
		"short":    func(f *faulty) { f.File, f.truncate = silent{f.File}, syscall.EIO },
	} {
		path := filepath.Join(t.TempDir(), "audit.log")
		f := &faulty{}
		l := openLog(t, path, Options{SyncEach: true, Wrap: func(x File) File { f.File = x; return f }})
		real := f.File
		break1(f)
		_, err := l.Append(call("1", "{}"))
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: error of Append = %v, want EIO", name, err)
		}
		*f = faulty{File: real}
		if _, second := l.Append(call("2", "{}")); !errors.Is(second, syscall.EIO) {
			t.Errorf("%s: error of the second Append = %v, want EIO; first error: %v", name, second, err)
		}
	}
}

// counting counts the writes and syncs of a file.
type counting struct {
	File
	mu            sync.Mutex
	writes, syncs int
}

func (c *counting) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	return c.File.Write(b)
}

func (c *counting) Sync() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.syncs++
	return nil
}

func (c *counting) counts() (int, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes, c.syncs
}

// TestSyncs checks that each record is one write, and that it is synced within 100 ms, or at once
// if SyncEach is set.
func TestSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{}
		l := openLog(t, filepath.Join(t.TempDir(), "a"), Options{Wrap: func(x File) File { c.File = x; return c }})
		for i := range 9 {
			appendAll(t, l, call(fmt.Sprint(i), "{}"))
		}
		if w, s := c.counts(); w != 10 || s != 0 {
			t.Errorf("after Open and 9 appends: %d writes, %d syncs, want 10, 0", w, s)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if _, s := c.counts(); s != 1 {
			t.Errorf("after 100 ms: %d syncs, want 1", s)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, s := c.counts(); s != 1 {
			t.Errorf("after another second without appends: %d syncs, want 1", s)
		}
		c = &counting{}
		l = openLog(t, filepath.Join(t.TempDir(), "b"), Options{SyncEach: true, Wrap: func(x File) File { c.File = x; return c }})
		appendAll(t, l, call("1", "{}"))
		if w, s := c.counts(); w != 2 || s != 2 {
			t.Errorf("with SyncEach, after Open and one append: %d writes, %d syncs, want 2, 2", w, s)
		}
	})
}

// TestConcurrentAppends checks that the log is valid after concurrent appends.
func TestConcurrentAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for j := range 20 {
				id := fmt.Sprintf("%d-%d", i, j)
				_, err1 := l.Append(call(id, "{}"))
				_, err2 := l.Append(done(id))
				if err1 != nil || err2 != nil {
					t.Error(err1, err2)
				}
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(call("x", "{}")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	s, err := Verify(strings.NewReader(readFile(t, path)), "f", l.Head().Hash)
	if err != nil || s.Records != 802 || s.Calls != 400 || s.Unfinished != 0 {
		t.Errorf("Verify = %+v, %v, want 802 records, 400 calls, none unfinished", s, err)
	}
}

// TestShow checks which records Show selects and how it formats them.
func TestShow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := openLog(t, path, Options{})
	asked := call("1", `{"a":1}`)
	asked.Data = json.RawMessage(`{"args":{"a":1},"approval":{"decision":"deny","actor":{"type":"human","name":"eve"},"reason":"no \"x\""}}`)
	other := call("2", "{}")
	other.Run = "r_2"
	appendAll(t, l, asked, done("1"), other)
	text := readFile(t, path)
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{Session: "r_1", Tool: "x"}, `2026-01-05T10:00:00.120Z  2  r_1  call  x@1  1  by agent Clerk  {"a":1}  deny by human eve  ("no \"x\"")` + "\n" +
			`2026-01-05T10:00:00.120Z  3  r_1  done  x@1  1  by agent Clerk  ok  3 ms` + "\n"},
		{Filter{Outcome: "ok"}, `2026-01-05T10:00:00.120Z  3  r_1  done  x@1  1  by agent Clerk  ok  3 ms` + "\n"},
		{Filter{Session: "r_2"}, `2026-01-05T10:00:00.120Z  4  r_2  call  x@1  2  by agent Clerk  {}` + "\n"},
		{Filter{Since: fixed().Add(time.Millisecond)}, ""},
		{Filter{Tool: "y"}, ""},
	} {
		var b bytes.Buffer
		if err := show(&b, strings.NewReader(text), "f", c.f); err != nil || b.String() != c.want {
			t.Errorf("show with %+v: error %v, output:\n%s\nwant:\n%s", c.f, err, b.String(), c.want)
		}
	}
	if err := show(io.Discard, strings.NewReader(text+"x\n"), "f", Filter{}); err == nil || !strings.HasPrefix(err.Error(), "f:5: seq 5: ") {
		t.Error(err)
	}
}

// show writes the selected records of a log, one per line.
func show(w io.Writer, r io.Reader, name string, f Filter) error {
	for l, err := range Lines(r, name) {
		if err != nil {
			return err
		}
		if f.Match(l) {
			fmt.Fprintln(w, l.String())
		}
	}
	return nil
}

// BenchmarkCall measures the two records of a call, which must together cost at most 20 µs.
func BenchmarkCall(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "audit.log"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		if _, err := l.Append(call("r_1-1", `{"sql":"select 1","limit":6}`)); err != nil {
			b.Fatal(err)
		}
		if _, err := l.Append(done("r_1-1")); err != nil {
			b.Fatal(err)
		}
	}
}
