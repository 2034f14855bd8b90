package engine

import (
	"errors"
	"io"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// ledgerFile is the ledger of a run whose store contains it beside the journal. A group of records
// contains the decisions that were made before it, so a decision is stored before anything that
// depends on it is sent.
type ledgerFile struct {
	w    journal.LedgerWriter
	rest io.Reader
	ends []int64 // sizes of the ledger after each line
}

// openLedgerFile opens the ledger that w stores.
func openLedgerFile(w journal.LedgerWriter) (audit.File, error) {
	lines, err := w.Ledger()
	if err != nil {
		return nil, err
	}
	f := &ledgerFile{w: w}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line + "\n")
		f.ends = append(f.ends, int64(text.Len()))
	}
	f.rest = strings.NewReader(text.String())
	return f, nil
}

// Read reads the lines that the ledger contained when it was opened.
func (f *ledgerFile) Read(p []byte) (int, error) { return f.rest.Read(p) }

// size returns the size of the ledger in bytes.
func (f *ledgerFile) size() int64 {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// Write appends one line.
func (f *ledgerFile) Write(line []byte) (int, error) {
	f.w.AppendLedger(strings.TrimSuffix(string(line), "\n"))
	f.ends = append(f.ends, f.size()+int64(len(line)))
	return len(line), nil
}

// Truncate removes the lines after a size.
func (f *ledgerFile) Truncate(size int64) error {
	n := 0
	for n < len(f.ends) && f.ends[n] <= size {
		n++
	}
	if n > 0 && f.ends[n-1] != size || n == 0 && size > 0 {
		return errors.New("the ledger can only be truncated after a line")
	}
	f.ends = f.ends[:n]
	f.w.TruncateLedger(n)
	return nil
}

// Sync does nothing, because the groups of the journal contain the ledger.
func (f *ledgerFile) Sync() error { return nil }

// Close does nothing, because the writer belongs to the run.
func (f *ledgerFile) Close() error { return nil }
