package rundir

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Lines returns the first n records of a journal as they are stored, without newlines. The journal
// must be complete and must have been verified.
func (d *Directory) Lines(n uint64) (lines []string, err error) {
	all, err := segments(d.files)
	if err != nil {
		return nil, err
	}
	for _, segment := range all {
		text, err := d.files.Read(journal.SegmentName(segment))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines[:n], nil
}

// Ledger returns the complete lines of the ledger of decisions.
func (d *Directory) Ledger() ([]string, error) {
	text, err := d.files.Read(LedgerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1], err
}

// Store creates the directory of a run from a copy. The errors are those of Create.
func (d *Directory) Store(c *journal.Copy) (err error) {
	if err := d.files.Dir("."); err != nil {
		return newUnusable(err, false)
	}
	unlock, err := d.lock()
	if err != nil {
		return newUnusable(err, false)
	}
	defer func() { err = errors.Join(newUnusable(err, false), unlock()) }()
	if err := d.prepare(); err != nil {
		return err
	}
	for name, program := range c.Programs {
		if err := d.files.Put(name, program); err != nil {
			return err
		}
	}
	for sum, blob := range c.Blobs {
		if err := d.files.Put(blobs+"/"+sum, blob); err != nil {
			return err
		}
	}
	for id, a := range c.Answers {
		text, err := journal.Seal(*a)
		if err != nil {
			return err
		}
		if err := d.files.Put(journal.AnswerName(id), text); err != nil {
			return err
		}
	}
	for name, lines := range map[string][]string{journal.OutFile: c.Output, LedgerFile: c.Ledger} {
		if len(lines) == 0 {
			continue
		}
		if err := d.files.Put(name, []byte(strings.Join(lines, "\n")+"\n")); err != nil {
			return err
		}
	}
	var text strings.Builder
	for _, l := range c.Records {
		text.WriteString(l.Text + "\n")
	}
	return d.files.Put(journal.SegmentName(1), []byte(text.String())) // the last file: without it there is no run
}
