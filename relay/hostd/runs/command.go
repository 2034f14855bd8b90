package runs

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// findLive returns a run, or an error if the run has ended or does not exist.
func (m *Manager) findLive(id string) (*run, error) {
	r, err := m.find(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, approvals.Errorf(protocol.RunHasExited, "run %s has ended", id)
	}
	return r, nil
}

// Keys writes keys to the terminal of a run. The keys may be lost, but are never written twice.
func (m *Manager) Keys(id, keys string) error {
	r, err := m.findLive(id)
	if err != nil {
		return err
	}
	return r.asExited(r.client.Keys(keys))
}

// DefaultGrace is the default time between a termination signal and a kill, in seconds.
const DefaultGrace = 10

// Stop stops the process group of a run. If kill is set, it kills the group at once, and otherwise
// after a grace period of graceS seconds.
func (m *Manager) Stop(ctx context.Context, id string, kill bool, graceS int64) error {
	r, err := m.findLive(id)
	if err != nil {
		return err
	}
	return r.asExited(r.client.Stop(ctx, kill, graceS))
}

// Resize changes the size of a run's terminal.
func (m *Manager) Resize(ctx context.Context, id string, cols, rows int64, by string) error {
	r, err := m.findLive(id)
	if err != nil {
		return err
	}
	if cols < 1 || cols > 1000 || rows < 1 || rows > 1000 {
		return approvals.Errorf(protocol.BadMessage, "a terminal has 1 to 1000 columns and rows, not %d and %d", cols, rows)
	}
	if err := r.asExited(r.client.Resize(ctx, cols, rows)); err != nil {
		return err
	}
	if !r.startWork() {
		return nil
	}
	defer r.busy.Done()
	return r.commit(context.WithoutCancel(ctx), spool.Change{Events: []spool.Event{{Type: protocol.RunResized, Data: protocol.Resized{Cols: cols, Rows: rows, By: by}}}})
}

// asExited converts ErrLost to the error for a run that has ended.
func (r *run) asExited(err error) error {
	if errors.Is(err, ptyholder.ErrLost) {
		return approvals.Errorf(protocol.RunHasExited, "run %s has ended", r.id)
	}
	return err
}
