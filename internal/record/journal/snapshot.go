package journal

import (
	"fmt"
	"slices"
)

// maxSnapshots is the maximum number of snapshots in a directory.
const maxSnapshots = 2

// SnapshotName returns the name of the file with the snapshot after record s.
func SnapshotName(s uint64) string { return fmt.Sprintf("snapshot-%d.bin", s) }

// Snapshots returns the numbers of the records after which there are snapshots, newest first.
func (d *Directory) Snapshots() ([]uint64, error) {
	names, err := d.files.List(".")
	if err != nil {
		return nil, err
	}
	var all []uint64
	for _, name := range names {
		var s uint64
		if _, err := fmt.Sscanf(name, "snapshot-%d.bin", &s); err == nil && SnapshotName(s) == name {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// Snapshot returns the snapshot after record s.
func (d *Directory) Snapshot(s uint64) ([]byte, error) { return d.files.Read(SnapshotName(s)) }

// DropSnapshot removes the snapshot after record s.
func (d *Directory) DropSnapshot(s uint64) error { return d.files.Remove(SnapshotName(s)) }

// PutSnapshot stores the snapshot after record s. It removes all others except the previous one.
func (d *Directory) PutSnapshot(s uint64, text []byte) error {
	if err := d.files.Put(SnapshotName(s), text); err != nil {
		return err
	}
	all, err := d.Snapshots()
	if err != nil {
		return err
	}
	for _, old := range all[min(maxSnapshots, len(all)):] {
		if err := d.files.Remove(SnapshotName(old)); err != nil {
			return err
		}
	}
	return nil
}
