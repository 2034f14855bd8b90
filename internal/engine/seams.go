package engine

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// Seams replaces what a process uses of the operating system. The zero Seams replaces nothing. Only
// internal/sim sets it.
type Seams struct {
	Owner  journal.Owner                     // the process as the owner of runs
	Outer  effect.Layer                      // layer around that of a durable run; nil for none
	Layer  effect.Layer                      // innermost layer around the performers; nil for none
	World  func(durable.World) durable.World // wraps what a durable run uses of its runtime; nil for none
	Keeper keeper.System                     // what the client of the keeper uses; nil means the real system
	Disk   disk.Disk                         // the disk with ledgers, audit logs and stores; nil means the real one
	VFS    string                            // the SQLite VFS with the files of Disk; "" means that of the system
}

// disk returns the disk with ledgers, audit logs and stores.
func (o *Options) disk() disk.Disk {
	if o.own.seams != nil {
		return o.own.seams.Disk
	}
	return nil
}

// SetSeams sets the seams of a process.
func (o *Options) SetSeams(s *Seams) { o.own.seams = s }

// openRun returns the run that is stored under the name of a directory. hasExited reports whether
// the process of an owner has certainly exited.
var (
	openRun   = func(dir string) journal.Run { return rundir.At(dir) }
	hasExited = localowner.HasExited
)

// Simulate replaces the stored runs and the processes of this machine, for all runs.
func Simulate(open func(dir string) journal.Run, exited func(journal.Owner) bool) {
	openRun, hasExited = open, exited
}

// owner returns the process as the owner of runs.
func (o *Options) owner() journal.Owner {
	if o.own.seams != nil {
		return o.own.seams.Owner
	}
	return localowner.Here()
}
