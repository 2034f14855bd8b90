package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

// auditFlags say where calls of tools are recorded.
type auditFlags struct {
	file string
	each bool
}

func (f *auditFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "audit", "", "record every call of a tool in `FILE`, which shows when it was changed")
	c.Flags().BoolVar(&f.each, "audit-sync", false, "have each record of the audit on the disk before the call goes on")
}

// audited opens the audit log that the flags name, or else the program's manifest, for
// what o says. end closes it, once all is run, and tells its head.
func audited(a *console.Console, p *engine.Program, o *engine.Options, f *auditFlags) (end func(error) error, err error) {
	how := engine.AuditOptions{Version: a.Binary.Release, SyncEach: f.each}
	var log *engine.AuditLog
	if f.file != "" {
		log, err = engine.OpenAudit(a.Abs(f.file), how)
	} else if p != nil {
		log, err = p.OpenAudit(o, how)
	}
	switch {
	case err != nil:
		return nil, refusedAudit(err)
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

// refusedAudit is the error of a command that cannot have its audit log.
func refusedAudit(err error) error {
	var broken *engine.AuditBrokenError
	var locked *engine.AuditLockedError
	switch {
	case errors.As(err, &broken):
		return console.Broken("look at it with `concerto audit show "+broken.File+"`; a run begins with another file, or when this one is moved away", "%v", broken)
	case errors.As(err, &locked):
		return console.Usage("wait for it to end, or give this run a file of its own", "%v", err)
	}
	return console.Usage("", "%v", err)
}

// usableAudit says whether a run may record into a file: no other process writes it, and
// its chain is whole.
func usableAudit(a *console.Console, f *auditFlags) error {
	if f.file == "" {
		if f.each {
			return console.Usage("add --audit FILE", "--audit-sync is of an audit log, and there is none")
		}
		return nil
	}
	if err := audit.Usable(a.Abs(f.file), "audit log"); err != nil {
		return refusedAudit(err)
	}
	return nil
}
