package program

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

// AuditFlags say where calls of tools are recorded.
type AuditFlags struct {
	File string
	each bool
}

func (f *AuditFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.File, "audit", "", "record every tool call in the tamper-evident `FILE`")
	c.Flags().BoolVar(&f.each, "audit-sync", false, "sync each audit record to disk before the call continues")
}

// OpenAudit opens the audit log that the flags name, or else the program's manifest, for the
// options o. end closes it, after all runs, and prints its head.
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
		return nil, RefusedAudit(err)
	case log == nil && f.each:
		return nil, console.Usage("add --audit FILE, or [audit] file to the manifest", "--audit-sync is of an audit log, and there is none")
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

// RefusedAudit is the error of a command that cannot have its audit log.
func RefusedAudit(err error) error {
	var broken *audit.BrokenError
	var locked *audit.LockedError
	switch {
	case errors.As(err, &broken):
		return console.Broken("look at it with `concerto audit show "+broken.File+"`; a run begins with another file, or when this one is moved away", "%v", broken)
	case errors.As(err, &locked):
		return console.Usage("wait for it to end, or give this run a file of its own", "%v", err)
	}
	return console.Usage("", "%v", err)
}

// UsableAudit reports whether a run may record into a file: no other process writes it, and
// its chain is whole.
func UsableAudit(a *console.Console, f *AuditFlags) error {
	if f.File == "" {
		if f.each {
			return console.Usage("add --audit FILE", "--audit-sync is of an audit log, and there is none")
		}
		return nil
	}
	if err := audit.CheckUsable(a.Abs(f.File), "audit log"); err != nil {
		return RefusedAudit(err)
	}
	return nil
}
