//go:build linux

package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestDiskFull writes to a full disk. The error must name the cause, and the store must remain
// unchanged and readable.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("could not mount a small disk: ", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	s := New(Options{Dir: dir})
	do[any](t, s, &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"a"`, "1")}})
	_, err := s.Perform(context.Background(), &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"b"`, `"`+strings.Repeat("x", 1<<20)+`"`)}})
	if err == nil || err.Error() != "cannot use s.db: the disk is full; nothing was stored" {
		t.Error(err)
	}
	if got := show(do[*effect.StoreEntries](t, s, &effect.StoreList{Store: at("hashmap"), Keys: true, Values: true})); got != `"a"=1` {
		t.Errorf("entries = %s, want the unchanged \"a\"=1", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestReasons checks the error texts for disk failures.
func TestReasons(t *testing.T) {
	f := &file{options: &Options{}}
	for errno, want := range map[error]string{
		syscall.ENOSPC: "the disk is full; nothing was stored",
		syscall.EDQUOT: "the disk is full; nothing was stored",
		syscall.EFBIG:  "the file cannot grow further (see `ulimit -f`); nothing was stored",
		syscall.EACCES: "it or its directory is not writable: change the permissions, or use another file",
	} {
		if got := f.failureReason(fmt.Errorf("sqlite3: disk I/O error: %w", &fs.PathError{Op: "write", Path: "s.db", Err: errno})); got != want {
			t.Errorf("reason for %v = %q, want %q", errno, got, want)
		}
	}
	if got := systemCause(errors.Join(os.ErrClosed, syscall.EIO)).Error(); got != "input/output error" {
		t.Error(got)
	}
}
