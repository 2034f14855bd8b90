package engine

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// OpenAudit opens the audit log that the program's manifest names, or returns nil if it names none.
// Of the run's options it uses the directory and the permission to write the file. A run whose
// Records.Audit is nil opens that log too; concurrent runs of this process share one log.
func (p *Program) OpenAudit(run *Options, o audit.Options) (*audit.Log, error) {
	file, err := p.auditFile(run)
	if file == "" || err != nil {
		return nil, err
	}
	return audit.Open(file, o)
}

// auditFile returns the path of the audit log that the manifest names, or "". The error means that
// the run may not write the file.
func (p *Program) auditFile(run *Options) (string, error) {
	file := p.ir.Audit
	if file == "" {
		return "", nil
	}
	root, err := p.base(run)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	policy := permit.New(permit.Config{Caller: run.Allow, Dir: run.WorkDir, Root: root})
	if why := policy.Refuse(permit.Write, file, true); why != "" {
		return "", fmt.Errorf("the audit log of [audit]: %s", why)
	}
	return file, nil
}

// audited opens the audit log that the manifest names, unless the options contain one. end closes
// that log after the run.
func (p *Program) audited(o *Options) (end func(error) error, err error) {
	unchanged := func(err error) error { return err }
	if o.Records.Audit != nil {
		return unchanged, nil
	}
	file, err := p.auditFile(o)
	if file == "" || err != nil {
		return unchanged, err
	}
	log, release, err := SharedAudit(file)
	if err != nil {
		return unchanged, err
	}
	o.Records.Audit = log
	return func(err error) error { return firstError(err, release()) }, nil
}

// SharedAudit opens an audit log for one run of this process. Because a log has only one writer,
// runs with the same file receive the same log. The caller must call release after the run; the
// last release closes the log.
func SharedAudit(file string) (log *audit.Log, release func() error, err error) {
	return audits.acquire(file, func() (*audit.Log, error) { return audit.Open(file, audit.Options{}) })
}

// SharedLedger is like SharedAudit for a ledger.
func SharedLedger(file string) (l *ledger.Ledger, release func() error, err error) {
	return ledgers.acquire(file, func() (*ledger.Ledger, error) { return ledger.Open(file, ledger.Options{}) })
}

var (
	audits  = sharedLogs[*audit.Log]{open: map[string]*sharedLog[*audit.Log]{}}
	ledgers = sharedLogs[*ledger.Ledger]{open: map[string]*sharedLog[*ledger.Ledger]{}}
)

// sharedLogs contains the open logs that runs of this process share.
type sharedLogs[L io.Closer] struct {
	mu   sync.Mutex
	open map[string]*sharedLog[L] // by file path
}

type sharedLog[L io.Closer] struct {
	log  L
	runs int
}

// acquire returns the log of a file for one run, and opens it for the first run. The last release
// closes the log.
func (s *sharedLogs[L]) acquire(file string, open func() (L, error)) (log L, release func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.open[file]
	if shared == nil {
		if log, err = open(); err != nil {
			return log, nil, err
		}
		shared = &sharedLog[L]{log: log}
		s.open[file] = shared
	}
	shared.runs++
	return shared.log, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if shared.runs--; shared.runs > 0 {
			return nil
		}
		delete(s.open, file)
		return shared.log.Close()
	}, nil
}
