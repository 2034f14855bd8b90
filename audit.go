package concerto

import (
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/audit"
	"github.com/concerto-lang/concerto/runtime/permit"
)

// AuditLog is an audit log that is being written (spec/23-audit.md). Many runs may
// share one. Safe for concurrent use.
type AuditLog = audit.Log

// AuditOptions are how an audit log is written. The zero value will do.
type AuditOptions = audit.Options

// AuditIO is what a log writes to: AuditOptions.Wrap may stand before its file.
type AuditIO = audit.File

// AuditHead is the last record of an audit log: its number and hash.
type AuditHead = audit.Head

// What OpenAudit fails with besides the errors of the file: another process writes the
// log, or its chain is broken.
type (
	AuditLockedError = audit.LockedError
	AuditBrokenError = audit.BrokenError
)

// OpenAudit takes an audit log over, or makes a new one. Who opens it closes it, after
// the runs that write to it.
func OpenAudit(file string, o AuditOptions) (*AuditLog, error) { return audit.Open(file, o) }

// OpenAudit is OpenAudit for the log that the program's manifest names, of which it takes
// what says where a run is, and what it may write; nil without one. A run of
// which Records.Audit is nil does the same.
func (p *Program) OpenAudit(run *Options, o AuditOptions) (*AuditLog, error) {
	file := p.ir.Audit
	if file == "" {
		return nil, nil
	}
	root, err := p.base(run)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	policy := permit.New(permit.Config{Caller: run.Allow, Dir: run.WorkDir, Root: root})
	if why := policy.Refuse(permit.Write, file, true); why != "" {
		return nil, fmt.Errorf("the audit log of [audit]: %s", why)
	}
	return OpenAudit(file, o)
}

// audited opens the log that the manifest names, where the application has given none.
func (p *Program) audited(o *Options) (end func(error) error, err error) {
	unchanged := func(err error) error { return err }
	if o.Records.Audit != nil {
		return unchanged, nil
	}
	log, err := p.OpenAudit(o, AuditOptions{})
	if log == nil {
		return unchanged, err
	}
	o.Records.Audit = log
	return func(err error) error { return firstError(err, log.Close()) }, nil
}
