// Package runs manages the runs on terminals of a machine (spec/relay.md). It starts each run in a
// PTY holder, commits the output as events, submits prompts as requests, and writes each input
// once. State that must survive a kill of hostd is stored in the runs' directories and in the
// spool, in the transaction of the event that it belongs to.
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
	Dir       string   // directory that contains the directories of the runs; its mode is 0700
	Roots     []string // directories in which runs may work; the first is the default
	Holder    []string // command line of the PTY holder
	Env       []string // environment of hostd
	Socket    string   // path of hostd's socket, for the variable RELAY_HOSTD_SOCK
	Spool     *spool.Spool
	Approvals *approvals.Registry
	Rules     prompt.Rules
	Redact    *redact.Redactor
	Log       *slog.Logger
	MaxEnded  int  // maximum number of ended runs; 0 means the constant MaxEnded
	NoServer  bool // no server is configured, so no events are acknowledged
	// After calls f after the duration d, unless stop is called before. Nil means time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
}

// Manager holds the runs on terminals. It is safe for concurrent use.
type Manager struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	runs  map[string]*run
	ended []*endedRun // the oldest first
	// starting contains the ancestors of each run that is being started. Processes of such a run
	// may exist although it is not in runs yet.
	starting map[string][]string
}

// New returns a Manager without runs. Restore loads the stored runs.
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

// Close detaches from the runs. The runs continue, and Restore of the next hostd finds them.
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

// find returns a run, or an error if it does not exist.
func (m *Manager) find(id string) (*run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[id]; r != nil {
		return r, nil
	}
	return nil, approvals.Errorf(protocol.UnknownRun, "there is no run %s on this machine", id)
}

// Has reports whether a run is managed by this Manager.
func (m *Manager) Has(id string) bool {
	_, err := m.find(id)
	return err == nil
}

// Dir returns the working directory of a run as an absolute path without symbolic links.
func (m *Manager) Dir(id string) (string, error) {
	r, err := m.find(id)
	if err != nil {
		return "", err
	}
	return r.Started.Cwd, nil
}

// Lookup returns the working directory of a run, and whether the run has ended.
func (m *Manager) Lookup(id string) (dir string, ended, ok bool) {
	r, err := m.find(id)
	if err != nil {
		return "", false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Started.Cwd, r.ended, true
}

// PID returns the process id of a run's session leader.
func (m *Manager) PID(id string) (int, error) {
	r, err := m.find(id)
	if err != nil {
		return 0, err
	}
	return r.PID, nil
}

// Ancestors returns the runs that started a run directly or indirectly, the nearest first.
func (m *Manager) Ancestors(id string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[id]; r != nil {
		return r.meta.Ancestors
	}
	return m.starting[id]
}

// Holder returns the process id of the PTY holder of a run, or 0 if there is none. The children of
// the holder are processes of the run.
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

// meta is the content of run.json in the directory of a run.
type meta struct {
	Started   protocol.Started `json:"started"`
	StartedAt string           `json:"started_at"`
	PID       int              `json:"pid"`
	// Ancestors are the runs that started this run, the nearest first.
	Ancestors []string `json:"ancestors,omitempty"`
}

// Files in the directory of a run, in addition to those of the PTY holder. startedFile exists if
// the start of the run is committed.
const (
	metaFile    = "run.json"
	startedFile = "told"
)

// Restore restores the runs of the previous hostd, including ended ones. It removes the ended runs
// whose end the server has acknowledged.
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
		// hostd was killed while it was starting the run, and no event of the run is committed.
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

// discard kills the processes of a run that has no events, and removes its directory.
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

// adopt registers a live run in a new spool. The lost spool may have sent some of the run's events,
// so the new spool reports a gap.
func (m *Manager) adopt(ctx context.Context, id, dir string) error {
	m.o.Log.Warn("the spool does not contain a run that is still running: its earlier events are lost", "run", id)
	if err := m.o.Spool.Adopt(ctx, id); err != nil {
		return err
	}
	size := ptyholder.LogSize(dir)
	_, err := m.o.Spool.Commit(ctx, spool.Change{Run: id, Offset: &size})
	return err
}
