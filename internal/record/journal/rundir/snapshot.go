package rundir

import (
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// maxSnapshots is the maximum number of snapshots in a directory.
const maxSnapshots = 2

// Snapshots returns the numbers of the records after which there are snapshots, newest first.
func (d *Directory) Snapshots() ([]uint64, error) {
	names, err := d.files.List(".")
	if err != nil {
		return nil, err
	}
	var all []uint64
	for _, name := range names {
		var s uint64
		if _, err := fmt.Sscanf(name, "snapshot-%d.bin", &s); err == nil && journal.SnapshotName(s) == name {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// Snapshot returns the snapshot after record s.
func (d *Directory) Snapshot(s uint64) ([]byte, error) { return d.files.Read(journal.SnapshotName(s)) }

// DropSnapshot removes the snapshot after record s.
func (w *writer) DropSnapshot(s uint64) error { return w.dir.files.Remove(journal.SnapshotName(s)) }

// PutSnapshot stores the snapshot after record s. It removes all others except the previous one.
func (w *writer) PutSnapshot(s uint64, text []byte) error {
	if err := w.dir.files.Put(journal.SnapshotName(s), text); err != nil {
		return err
	}
	all, err := w.dir.Snapshots()
	if err != nil {
		return err
	}
	for _, old := range all[min(maxSnapshots, len(all)):] {
		if err := w.DropSnapshot(old); err != nil {
			return err
		}
	}
	return nil
}
