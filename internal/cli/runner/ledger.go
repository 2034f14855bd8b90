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

// openLedger opens the ledger of a run, if the run has one. Call end after the run: it closes the
// ledger and prints the hash of the last record.
func openLedger(a *console.Console, o *engine.Options, file string) (end func(error) error, err error) {
	if file == "" {
		return func(err error) error { return err }, nil
	}
	if log := o.Records.Audit; log != nil && sameFile(log.Path(), a.Abs(file)) {
		return nil, sameLogError(file)
	}
	l, err := ledger.Open(a.Abs(file), ledger.Options{})
	if err != nil {
		return nil, program.AuditError(err)
	}
	if n := l.Torn(); n > 0 {
		a.Notef("ledger: removed %d bytes of an incomplete line from %s\n", n, file)
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

// sameLogError returns the error of a run whose audit log and ledger are the same file.
func sameLogError(file string) error {
	return console.Usage("give --ledger another file", "%s cannot be both the audit log and the ledger of decisions", file)
}

// sameFile reports whether the paths p and q name the same file. The files need not exist.
func sameFile(p, q string) bool {
	x, errX := os.Stat(p)
	y, errY := os.Stat(q)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	return errors.Is(errX, os.ErrNotExist) == errors.Is(errY, os.ErrNotExist) && resolveDir(p) == resolveDir(q)
}

// resolveDir resolves the links in the directory of the path p. It returns p unchanged if the
// directory does not exist.
func resolveDir(p string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(p))
	if err != nil {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, filepath.Base(p))
}
