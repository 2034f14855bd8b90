package program

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

// AuditFlags are the flags for the audit log of a run.
type AuditFlags struct {
	File string
	each bool
}

func (f *AuditFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.File, "audit", "", "record every tool call in the tamper-evident `FILE`")
	c.Flags().BoolVar(&f.each, "audit-sync", false, "sync each audit record to disk before the call continues")
}

// OpenAudit opens the audit log and sets it in o. The flags name the log; without them, the
// manifest of the program does. Call end after all runs: it closes the log and prints the hash of
// the last record.
func OpenAudit(a *console.Console, p *engine.Program, o *engine.Options, f *AuditFlags) (end func(error) error, err error) {
	how := audit.Options{Version: a.Binary.Release, SyncEach: f.each}
	var log *audit.Log
	if f.File != "" {
		log, err = audit.Open(a.Abs(f.File), how)
	} else if p != nil {
		log, err = p.OpenAudit(o, how)
	}
	switch {
	case err != nil:
		return nil, AuditError(err)
	case log == nil && f.each:
		return nil, console.Usage("add --audit <file>, or set [audit] file in the manifest", "--audit-sync requires an audit log")
	case log == nil:
		return func(err error) error { return err }, nil
	}
	o.Records.Audit = log
	return func(err error) error {
		if closing := log.Close(); err == nil {
			err = closing
		}
		head := log.Head()
		a.Notef("audit: %d records, head %s\n", head.Seq, head.Hash)
		return err
	}, nil
}

// AuditError returns the error of a command that cannot open its audit log.
func AuditError(err error) error {
	var broken *audit.BrokenError
	var locked *audit.LockedError
	switch {
	case errors.As(err, &broken):
		return console.Modified("inspect it with `concerto audit show "+broken.File+"`, then use another file or move this one away", "%v", broken)
	case errors.As(err, &locked):
		return console.Usage("wait until that process ends, or use another file", "%v", err)
	}
	return console.Usage("", "%v", err)
}

// CheckAudit returns an error if a run could not write into the audit log of the flags because
// another process writes to the log, or because the log's chain of hashes is broken.
func CheckAudit(a *console.Console, f *AuditFlags) error {
	if f.File == "" {
		if f.each {
			return console.Usage("add --audit <file>", "--audit-sync requires an audit log")
		}
		return nil
	}
	if err := audit.CheckUsable(a.Abs(f.File), "audit log"); err != nil {
		return AuditError(err)
	}
	return nil
}
