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
	o.Disk = run.disk()
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

// openSharedAudit returns the audit log of the options, or else the one that the manifest names, or
// nil. The caller must call release after the run, also after an error.
func (p *Program) openSharedAudit(o *Options) (log *audit.Log, release func() error, err error) {
	release = func() error { return nil }
	if o.Records.Audit != nil {
		return o.Records.Audit, release, nil
	}
	file, err := p.auditFile(o)
	if file == "" || err != nil {
		return nil, release, err
	}
	log, opened, err := sharedAudit(file, audit.Options{Disk: o.disk()})
	if err != nil {
		return nil, release, err
	}
	return log, opened, nil
}

// SharedAudit opens an audit log for one run of this process. Because a log has only one writer,
// runs with the same file receive the same log. The caller must call release after the run; the
// last release closes the log.
func SharedAudit(file string) (log *audit.Log, release func() error, err error) {
	return sharedAudit(file, audit.Options{})
}

func sharedAudit(file string, o audit.Options) (log *audit.Log, release func() error, err error) {
	return audits.acquire(file, func() (*audit.Log, error) { return audit.Open(file, o) })
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
