package compiletest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// Renewals counts the snapshots of a run.
type Renewals struct {
	Renewed int
	Bytes   int            // size of the last snapshot
	Refused map[string]int // boundaries without a snapshot, by reason
}

// maxRenewals limits the snapshots of one run. Every freshImage-th snapshot is restored in a new
// image.
const (
	maxRenewals = 500
	freshImage  = 16
)

// Renew configures a run to continue at every boundary from a restored snapshot. A new snapshot of
// the restored run must have the same bytes. This is also checked for runs that are restored in
// another image of the program.
func Renew(t testing.TB, c *vm.Config) *Renewals {
	out := &Renewals{Refused: map[string]int{}}
	if c.Journal == nil {
		c.Journal = discardRecorder{}
	}
	plain := *c
	plain.Boundary = nil
	c.Boundary = func(m *vm.VM) {
		if err := out.renew(m, plain); err != nil {
			t.Errorf("boundary %d: %v", out.Renewed, err)
		}
	}
	return out
}

func (r *Renewals) renew(m *vm.VM, c vm.Config) error {
	if r.Renewed == maxRenewals {
		return nil
	}
	data, err := m.Verified(vm.Snapshot{})
	if unkept, ok := errors.AsType[*vm.NoSnapshotError](err); ok {
		r.Refused[unkept.What]++
		return nil
	}
	if err != nil {
		return err
	}
	r.Bytes = len(data)
	if r.Renewed++; r.Renewed%freshImage != 1 {
		return nil
	}
	other, err := vm.Restore(c, data)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if second, err := other.Snapshot(vm.Snapshot{}); err != nil || !bytes.Equal(data, second) {
		return fmt.Errorf("the snapshot of the restored run has %d bytes and differs from the original, which has %d bytes (error %v)", len(second), len(data), err)
	}
	return nil
}

// discardRecorder is a journal that discards its records.
type discardRecorder struct{}

func (discardRecorder) EffectBegan(int64, int64, effect.Request)                            {}
func (discardRecorder) EffectEnded(int64, effect.Request, effect.Result, error, *vm.Moment) {}
func (discardRecorder) EffectDeferred(int64, effect.Request, vm.Moment)                     {}
func (discardRecorder) MemoryExceeded(vm.Moment)                                            {}
func (discardRecorder) ContextEnded(error, *vm.Moment)                                      {}
func (discardRecorder) ProgramWaits()                                                       {}
