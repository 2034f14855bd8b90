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
	Taken   int
	Bytes   int            // size of the last snapshot
	Refused map[string]int // boundaries without a snapshot, by reason
}

// mostRenewals limits the snapshots of one run. Every freshImage-th snapshot is restored in a new
// image.
const (
	mostRenewals = 500
	freshImage   = 16
)

// Renew configures a run to continue at every boundary from a restored snapshot. A snapshot of the
// restored state must have the same bytes, also in another image of the program.
func Renew(t testing.TB, c *vm.Config) *Renewals {
	out := &Renewals{Refused: map[string]int{}}
	if c.Journal == nil {
		c.Journal = unwritten{}
	}
	plain := *c
	plain.Boundary = nil
	c.Boundary = func(m *vm.VM) {
		if err := out.renew(m, plain); err != nil {
			t.Errorf("boundary %d: %v", out.Taken, err)
		}
	}
	return out
}

func (r *Renewals) renew(m *vm.VM, c vm.Config) error {
	if r.Taken == mostRenewals {
		return nil
	}
	data, err := m.Verified(vm.Snapshot{})
	if unkept, ok := errors.AsType[*vm.Unkept](err); ok {
		r.Refused[unkept.What]++
		return nil
	}
	if err != nil {
		return err
	}
	r.Bytes = len(data)
	if r.Taken++; r.Taken%freshImage != 1 {
		return nil
	}
	other, err := vm.Restore(c, data)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if again, err := other.Snapshot(vm.Snapshot{}); err != nil || !bytes.Equal(data, again) {
		return fmt.Errorf("the restored run has another snapshot, of %d bytes, not %d: %v", len(again), len(data), err)
	}
	return nil
}

// unwritten is a journal that discards its records.
type unwritten struct{}

func (unwritten) Began(int64, int64, effect.Request)                            {}
func (unwritten) Ended(int64, effect.Request, effect.Result, error, *vm.Moment) {}
func (unwritten) Waited(int64, effect.Request, vm.Moment)                       {}
func (unwritten) Looked(vm.Moment)                                              {}
func (unwritten) Over(error, *vm.Moment)                                        {}
func (unwritten) Waits()                                                        {}
