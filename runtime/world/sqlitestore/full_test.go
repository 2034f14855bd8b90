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

// TestDiskFull checks that on a full disk the error names the cause, and the store is unchanged and
// readable.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("a small disk takes the rights to mount one: ", err)
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
		t.Errorf("it holds %s", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestReasons checks the texts of errors for disk failures of the system.
func TestReasons(t *testing.T) {
	f := &file{options: &Options{}}
	for errno, want := range map[error]string{
		syscall.ENOSPC: "the disk is full; nothing was stored",
		syscall.EDQUOT: "the disk is full; nothing was stored",
		syscall.EFBIG:  "the file cannot grow further (see `ulimit -f`); nothing was stored",
		syscall.EACCES: "it or its directory is not writable: change the permissions, or use another file",
	} {
		if got := f.failureReason(fmt.Errorf("sqlite3: disk I/O error: %w", &fs.PathError{Op: "write", Path: "s.db", Err: errno})); got != want {
			t.Errorf("%v: %s", errno, got)
		}
	}
	if got := systemCause(errors.Join(os.ErrClosed, syscall.EIO)).Error(); got != "input/output error" {
		t.Error(got)
	}
}
