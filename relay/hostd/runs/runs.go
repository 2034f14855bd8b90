// Package runs manages a host's runs on terminals (spec/relay.md). It starts each under a PTY
// holder, commits its output as events, submits its prompts as requests, and writes each input
// once. The state that must survive a kill of hostd is in the spool, in the transaction of the
// event that it belongs to, and in the runs' directories. The compatibility promise does not cover
// this API.
package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/prompt"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// Options configures a Manager.
type Options struct {
	Dir       string   // the directory of the runs' directories, mode 0700
	Roots     []string // runs work below one of these; the first is the default
	Holder    []string // the PTY holder program and its arguments
	Env       []string // hostd's environment
	Socket    string   // path of hostd's socket, for RELAY_HOSTD_SOCK
	Spool     *spool.Spool
	Approvals *approvals.Registry
	Rules     prompt.Rules
	Redact    *redact.Redactor
	Log       *slog.Logger
	MaxEnded  int  // maximum number of ended runs; 0 means MaxEnded
	NoServer  bool // no server is configured that acknowledges events
	// After calls f after d unless stop is called first. Nil means time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
}

// Manager holds the runs. It is safe for concurrent use.
type Manager struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	runs  map[string]*run
	ended []*endedRun // in the order in which they ended
	// starting maps runs to their ancestors while their processes may exist and they are not in
	// runs yet.
	starting map[string][]string
}

// New returns a Manager without runs; Restore loads them.
func New(o Options) (*Manager, error) {
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if o.MaxEnded == 0 {
		o.MaxEnded = MaxEnded
	}
	for i, root := range o.Roots {
		dir, err := resolveDir(root)
		if err != nil {
			return nil, fmt.Errorf("--root %s: %w", root, err)
		}
		o.Roots[i] = dir
	}
	if len(o.Roots) == 0 {
		return nil, errors.New("no home directory exists: add --root DIR")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of runs: %w", err)
	}
	m := &Manager{o: o, runs: map[string]*run{}, starting: map[string][]string{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m, nil
}

// Close detaches from the runs, which continue; Restore finds them again.
func (m *Manager) Close() {
	m.stop()
	m.stopTimers()
	for _, r := range m.all() {
		r.client.Close()
	}
	m.work.Wait()
}

func (m *Manager) all() []*run {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*run, 0, len(m.runs))
	for _, r := range m.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *run) int { return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.id, b.id)) })
	return all
}

// find returns a known run.
func (m *Manager) find(id string) (*run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[id]; r != nil {
		return r, nil
	}
	return nil, approvals.Errorf(protocol.UnknownRun, "there is no run %s on this host", id)
}

// Has reports whether the run is one on a terminal.
func (m *Manager) Has(id string) bool {
	_, err := m.find(id)
	return err == nil
}

// Dir returns the working directory of a run: absolute, without symbolic links.
func (m *Manager) Dir(id string) (string, error) {
	r, err := m.find(id)
	if err != nil {
		return "", err
	}
	return r.Started.Cwd, nil
}

// Lookup returns a run's working directory and whether it has ended.
func (m *Manager) Lookup(id string) (dir string, ended, ok bool) {
	r, err := m.find(id)
	if err != nil {
		return "", false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Started.Cwd, r.ended, true
}

// PID returns the process id of the run's session leader.
func (m *Manager) PID(id string) (int, error) {
	r, err := m.find(id)
	if err != nil {
		return 0, err
	}
	return r.PID, nil
}

// Ancestors returns the runs that started a run, directly and indirectly, the nearest first.
func (m *Manager) Ancestors(id string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[id]; r != nil {
		return r.meta.Ancestors
	}
	return m.starting[id]
}

// Holder returns the process id of the run's PTY holder, whose children belong to the run, or 0 if
// there is none.
func (m *Manager) Holder(id string) int {
	r, err := m.find(id)
	if err != nil {
		return 0
	}
	return r.client.Holder()
}

// List returns all runs, oldest first.
func (m *Manager) List() []protocol.RunSummary {
	all := []protocol.RunSummary{}
	for _, r := range m.all() {
		all = append(all, protocol.RunSummary{RunID: r.id, Tool: r.Started.Tool, Cwd: r.Started.Cwd, Command: r.Started.Command, Status: r.status(), StartedAt: r.StartedAt, Title: r.Started.Title})
	}
	return all
}

// meta is the content of run.json in the run's directory.
type meta struct {
	Started   protocol.Started `json:"started"`
	StartedAt string           `json:"started_at"`
	PID       int              `json:"pid"`
	// the runs that started it, the nearest first
	Ancestors []string `json:"ancestors,omitempty"`
}

// Files in a run's directory, next to those of the PTY holder. startedFile exists once the run's
// start is committed.
const (
	metaFile    = "run.json"
	startedFile = "told"
)

// Restore restores the runs of an earlier process, whether alive or ended. It removes runs whose
// end the server has acknowledged.
func (m *Manager) Restore(ctx context.Context) error {
	entries, err := os.ReadDir(m.o.Dir)
	if err != nil {
		return fmt.Errorf("read the directory of runs: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !protocol.IsID(e.Name()) {
			continue
		}
		if err := m.restore(ctx, e.Name()); err != nil {
			return fmt.Errorf("resume run %s: %w", e.Name(), err)
		}
	}
	return nil
}

func (m *Manager) restore(ctx context.Context, id string) error {
	dir := filepath.Join(m.o.Dir, id)
	stored, ok := m.o.Spool.Run(id)
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	var of meta
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	_, untold := os.Stat(filepath.Join(dir, startedFile))
	switch {
	case !ok && (err != nil || errors.Is(untold, fs.ErrNotExist)):
		// hostd was killed while it started the run, and no event was committed
		return m.discard(dir)
	case err != nil:
		return err
	case !ok:
		if err := m.adopt(ctx, id, dir); err != nil {
			return err
		}
		stored, _ = m.o.Spool.Run(id)
	case stored.Ended && stored.Acked >= stored.Last:
		return os.RemoveAll(dir)
	}
	r, err := m.attach(id, dir, of, stored.Offset)
	if err != nil {
		return err
	}
	if stored.Ended {
		r.restoreEnded()
		return nil
	}
	if err := r.restoreInputs(ctx); err != nil {
		return err
	}
	r.restorePrompts(ctx)
	m.work.Go(r.followOutput)
	return nil
}

// discard kills the processes of a run without events and removes its directory.
func (m *Manager) discard(dir string) error {
	c, err := ptyholder.Attach(dir, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Stop(m.ctx, true, 0); err != nil && !errors.Is(err, ptyholder.ErrLost) {
		return err
	}
	return os.RemoveAll(dir)
}

// adopt registers a live run in a new spool. The earlier spool may have sent its output so far, so
// the spool reports a gap for it.
func (m *Manager) adopt(ctx context.Context, id, dir string) error {
	m.o.Log.Warn("the spool does not contain a run that is still running: its earlier events are lost", "run", id)
	if err := m.o.Spool.Adopt(ctx, id); err != nil {
		return err
	}
	size := ptyholder.LogSize(dir)
	_, err := m.o.Spool.Commit(ctx, spool.Change{Run: id, Offset: &size})
	return err
}
