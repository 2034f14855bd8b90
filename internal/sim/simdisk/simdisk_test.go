package simdisk

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

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
