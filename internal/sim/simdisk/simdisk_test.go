package simdisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// errorKinds are the errors by which callers of disks decide.
var errorKinds = []error{fs.ErrNotExist, fs.ErrExist, fs.ErrClosed, lockfile.ErrHeld, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY, syscall.EBADF, io.EOF}

// describe returns the kind of an error, or "" for nil.
func describe(err error) string {
	for _, kind := range errorKinds {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return ""
}

// use calls every operation of files and returns their results, one per line.
func use(f disk.Files) string {
	var out strings.Builder
	note := func(name string, err error, result ...any) {
		fmt.Fprintln(&out, name, result, describe(err))
	}
	read := func(name string) {
		text, err := f.Read(name)
		note("read "+name, err, string(text))
	}
	list := func(dir string) {
		names, err := f.List(dir)
		note("list "+dir, err, names)
	}
	list(".")
	note("directory", f.Dir("."))
	note("directory again", f.Dir("."))
	note("deep", f.Dir("a/b/c"))
	read("x")
	read("a")
	note("put", f.Put("x", []byte("one")))
	note("put into a missing directory", f.Put("missing/x", nil))
	note("put below a file", f.Put("x/y", nil))
	note("make", f.Make("y", []byte("two")))
	note("make again", f.Make("y", []byte("three")))
	note("directory over a file", f.Dir("y"))
	read("x")
	read("y")
	list(".")
	list("a")
	note("remove", f.Remove("y"))
	note("remove again", f.Remove("y"))
	note("remove a directory with files", f.Remove("a"))
	note("remove an empty directory", f.Remove("a/b/c"))
	useHandles(f, note)
	read("log")
	useLocks(f, note)
	info, err := f.Stat("log")
	note("stat", err, info.Name(), info.Size(), info.IsDir(), info.Mode().IsRegular())
	_, err = f.Stat("missing")
	note("stat of a missing file", err)
	note("sync directory", f.SyncDir("."))
	note("sync a missing directory", f.SyncDir("missing"))
	return out.String()
}

func useHandles(f disk.Files, note func(name string, err error, result ...any)) {
	log, size, err := f.Append("log")
	note("append", err, size)
	n, err := log.Write([]byte("first second "))
	note("write", err, n)
	note("truncate", log.Truncate(6))
	n, err = log.Write([]byte("third"))
	note("write at the end", err, n)
	note("sync", log.Sync())
	note("close", log.Close())
	_, err = log.Write(nil)
	note("write after close", err)
	_, err = f.Open("log", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	note("exclusive", err)
	_, err = f.Open("missing", os.O_RDWR, 0)
	note("open a missing file", err)
	again, err := f.Open("log", os.O_RDWR, 0)
	note("open", err)
	begin := make([]byte, 5)
	n, err = again.Read(begin)
	note("read", err, n, string(begin))
	at, err := again.Seek(-2, io.SeekEnd)
	note("seek", err, at)
	_, err = again.Write([]byte("RDx"))
	note("overwrite", err)
	_, err = again.Read(begin)
	note("read at the end", err)
	note("extend", again.Truncate(16))
	note("close", again.Close())
	only, err := f.Open("log", os.O_RDONLY, 0)
	note("open for reading", err)
	_, err = only.Write([]byte("x"))
	note("write to it", err)
	note("close", only.Close())
	cut, err := f.Open("cut", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	note("create", err)
	note("close", cut.Close())
}

func useLocks(f disk.Files, note func(name string, err error, result ...any)) {
	locked, err := f.IsLocked("lock")
	note("is locked", err, locked)
	unlock, err := f.Lock("lock", os.Getpid)
	note("lock", err)
	_, err = f.Lock("lock", os.Getpid)
	note("lock again", err)
	locked, err = f.IsLocked("lock")
	note("is locked", err, locked)
	note("unlock", unlock())
	first, err := f.Open("lock", os.O_RDWR, 0)
	note("open", err)
	second, err := f.Open("lock", os.O_RDWR, 0)
	note("open", err)
	note("lock", first.Lock())
	note("lock again", second.Lock())
	note("close", first.Close())
	note("lock", second.Lock())
	note("close", second.Close())
}

// TestLikeTheRealDisk uses the real disk and a simulated one in the same way. The results must be
// equal.
func TestLikeTheRealDisk(t *testing.T) {
	real := use(disk.At(filepath.Join(t.TempDir(), "dir", "run")))
	d := New(Options{})
	d.MkdirAll("/disk")
	simulated := use(d.View(new(OnlyProcess)).At("/disk/dir/run"))
	want, got := strings.Split(real, "\n"), strings.Split(simulated, "\n")
	if len(got) != len(want) || len(want) < 50 {
		t.Errorf("%d results of the simulated disk, want %d", len(got), len(want))
	}
	for i, line := range want[:min(len(got), len(want))] {
		if got[i] != line {
			t.Errorf("result %d of the simulated disk is %q, want %q", i+1, got[i], line)
		}
	}
}

// start creates a disk with a directory that survives power cuts, and a process.
func start(o Options) (*Disk, *View, *OnlyProcess) {
	d, p := New(o), new(OnlyProcess)
	d.MkdirAll("/disk")
	return d, d.View(p), p
}

// TestPowerCut writes synced and unsynced text to files, and checks what each outcome leaves.
func TestPowerCut(t *testing.T) {
	for outcome := PowerNone; outcome < Outcomes; outcome++ {
		for seed := range uint64(20) {
			d, v, p := start(Options{Seed: seed, Faults: []Fault{{At: 6, Outcome: outcome}}})
			f, _, err := v.At("/disk").Append("a") // operation 1
			if err != nil {
				t.Fatal(err)
			}
			_, werr := f.Write([]byte("synced "))                                   // 2
			if err := errors.Join(werr, f.Sync(), v.SyncDir("/disk")); err != nil { // 3 and 4
				t.Fatal(err)
			}
			other, _, err := v.At("/disk").Append("b") // 5
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Write([]byte("unsynced")) // 6
			if _, again := other.Write(nil); !errors.Is(err, ErrDead) || !errors.Is(again, ErrDead) || !p.IsDead() {
				t.Fatalf("%s: writing at the power cut and after it returns %v and %v", outcome, err, again)
			}
			next := d.View(new(OnlyProcess)).At("/disk")
			text, err := next.Read("a")
			switch rest, ok := strings.CutPrefix(string(text), "synced "); {
			case err != nil || !ok:
				t.Errorf("%s, seed %d: the file contains %q, error %v", outcome, seed, text, err)
			case outcome == PowerNone && rest != "", outcome == PowerAll && rest != "unsynced":
				t.Errorf("%s: the file ends with %q", outcome, rest)
			case !strings.HasPrefix("unsynced", strings.TrimRight(rest, "\x00")), outcome != PowerTorn && strings.Contains(rest, "\x00"):
				t.Errorf("%s, seed %d: the file ends with %q", outcome, seed, rest)
			}
			names, err := next.List(".")
			if has := len(names) == 2; err != nil || outcome == PowerNone && has || outcome == PowerAll && !has {
				t.Errorf("%s: the names are %q, error %v", outcome, names, err)
			}
		}
	}
}

// TestNamesAfterPowerCut checks that a file is lost with an unsynced name of its directory, and
// that a renaming happens completely or not at all.
func TestNamesAfterPowerCut(t *testing.T) {
	for seed := range uint64(20) {
		d, v, _ := start(Options{Seed: seed, Faults: []Fault{{At: 11, Outcome: PowerPart}}})
		files := v.At("/disk")
		err := errors.Join(files.Put("old", []byte("x")), files.Dir("sub")) // operations 1 to 6
		f, ferr := files.Open("sub/f", os.O_WRONLY|os.O_CREATE, 0)          // 7
		if err = errors.Join(err, ferr); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), v.SyncDir("/disk/sub"), v.Rename("/disk/old", "/disk/new")); err != nil { // 8 to 10
			t.Fatal(err)
		}
		if err := f.Sync(); !errors.Is(err, ErrDead) {
			t.Fatalf("the sync at the power cut returns %v", err)
		}
		next := d.View(new(OnlyProcess)).At("/disk")
		names, err := next.List(".")
		if err != nil {
			t.Fatal(err)
		}
		_, missing := next.Read("sub/f")
		if slices.Contains(names, "sub") != (missing == nil) {
			t.Errorf("seed %d: the names are %q, and reading a file in sub returns %v", seed, names, missing)
		}
		if slices.Contains(names, "old") == slices.Contains(names, "new") {
			t.Errorf("seed %d: after a renaming the names are %q", seed, names)
		}
	}
}

// TestFailure checks that operations fail for a time, and that a full disk permits what needs no
// space.
func TestFailure(t *testing.T) {
	_, v, p := start(Options{Failure: Failure{From: 2, For: 3, Err: syscall.ENOSPC}})
	f, _, err := v.At("/disk").Append("a") // operation 1
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.Write([]byte("1234"))
	if n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("writing to a full disk returns %d, %v, want half of the bytes and ENOSPC", n, err)
	}
	if err := errors.Join(f.Truncate(0), f.Sync()); err != nil {
		t.Errorf("on a full disk, truncating and syncing return %v", err)
	}
	if n, err := f.Write([]byte("5678")); n != 4 || err != nil || p.IsDead() {
		t.Errorf("writing after the failure returns %d, %v", n, err)
	}
	if text, err := v.At("/disk").Read("a"); string(text) != "5678" || err != nil {
		t.Errorf("the file contains %q, error %v", text, err)
	}
}

// TestLockOfDeadProcess checks that a lock is released when its process dies.
func TestLockOfDeadProcess(t *testing.T) {
	d, v, p := start(Options{})
	if _, err := v.At("/disk").Lock("lock", nil); err != nil {
		t.Fatal(err)
	}
	next := d.View(new(OnlyProcess)).At("/disk")
	if _, err := next.Lock("lock", nil); !errors.Is(err, lockfile.ErrHeld) {
		t.Errorf("the lock of a living process is %v", err)
	}
	p.Crash()
	if _, err := next.Lock("lock", nil); err != nil {
		t.Errorf("the lock of a dead process is %v", err)
	}
}
