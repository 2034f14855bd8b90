package runner

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/ledger"
)

// openLedger opens the ledger of a run, if it has one. end closes it, after the run, and prints its
// head.
func openLedger(a *console.Console, o *engine.Options, file string) (end func(error) error, err error) {
	if file == "" {
		return func(err error) error { return err }, nil
	}
	if log := o.Records.Audit; log != nil && sameFile(log.Path(), a.Abs(file)) {
		return nil, sameLogError(file)
	}
	l, err := ledger.Open(a.Abs(file), ledger.Options{})
	if err != nil {
		return nil, program.RefusedAudit(err)
	}
	if n := l.Torn(); n > 0 {
		a.Notef("ledger: %d bytes of a torn line were cut from %s\n", n, file)
	}
	o.Records.Ledger = l
	return func(err error) error {
		if closing := l.Close(); err == nil {
			err = closing
		}
		head := l.Head()
		a.Notef("ledger: %d records, head %s\n", head.Seq, head.Hash)
		return err
	}, nil
}

// sameLogError is the error of a run whose audit log and ledger are the same file.
func sameLogError(file string) error {
	return console.Usage("give --ledger a file of its own", "%s would be the audit log and the ledger of decisions: they are two files", file)
}

// sameFile reports whether two paths are one file, also where it is not there yet.
func sameFile(p, q string) bool {
	x, errX := os.Stat(p)
	y, errY := os.Stat(q)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	return errors.Is(errX, os.ErrNotExist) == errors.Is(errY, os.ErrNotExist) && resolveDir(p) == resolveDir(q)
}

// resolveDir is a path whose directory is without links, where it is there.
func resolveDir(p string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(p))
	if err != nil {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, filepath.Base(p))
}
