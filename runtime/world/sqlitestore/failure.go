package sqlitestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/disk"
)

// refusal is an error text with the reason why a file cannot be used, and the remedy.
type refusal string

func (r refusal) Error() string { return string(r) }

func refusef(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// programError converts the error of an operation to an error for the program.
func (f *file) programError(ctx context.Context, at effect.Store, err error) error {
	var failure *effect.Error
	switch {
	case errors.Is(err, effect.ErrWaits):
		return err
	case errors.Is(err, sqlite3.BUSY) && effect.IsNoWait(ctx):
		return effect.ErrWaits
	case ctx.Err() != nil && !errors.As(err, &failure):
		return context.Cause(ctx)
	case failure != nil || errors.As(err, &failure):
		return failure
	}
	e := effect.StoreError(&at, "cannot use %s: %s", f.name, f.failureReason(err))
	e.Cause = err
	return e
}

// failureReason returns the reason why a file cannot be used.
func (f *file) failureReason(err error) string {
	var r refusal
	switch {
	case errors.As(err, &r):
		return r.Error()
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		return fmt.Sprintf("another process has been writing to it for %s: wait until it finishes or stop it, and try again", f.options.Wait.Round(time.Millisecond))
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		return damaged("SQLite could not read it").Error()
	case errors.Is(err, sqlite3.FULL), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full; nothing was stored"
	case errors.Is(err, sqlite3.IOERR) && noRoom(f.options.Disk.At(filepath.Dir(f.path))):
		return "the disk is full; nothing was stored"
	case errors.Is(err, syscall.EFBIG):
		return "the file cannot grow further (see `ulimit -f`); nothing was stored"
	case errors.Is(err, sqlite3.TOOBIG):
		return "the value is larger than 1 GB"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, sqlite3.READONLY):
		return "it or its directory is not writable: change the permissions, or use another file"
	case errors.Is(err, sqlite3.IOERR):
		return fmt.Sprintf("its disk failed (%v); nothing was stored", systemCause(err))
	}
	return err.Error()
}

// noRoom reports whether the disk of the directory is full. SQLite reports only that it could not
// write.
func noRoom(dir disk.Files) bool {
	name := ".concerto-" + rand.Text()
	trial, err := dir.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = trial.Write(make([]byte, 64<<10))
		err = errors.Join(err, trial.Close(), dir.Remove(name))
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// systemCause returns the error of the operating system, or err itself.
func systemCause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// damaged returns the refusal of a damaged database.
func damaged(how string) error {
	return refusef("it is damaged (%s) and was not changed: replace it by a copy, or move it away to start again", how)
}
