package sealer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/seal"
)

// Dir returns the directory of the account in the state directory of hostd.
func Dir(state string) string { return filepath.Join(state, "seal") }

// Files describes the stored account of a machine.
type Files struct {
	Roster *seal.Roster // nil if the machine has no account
	Fork   string       // why hostd refuses all commands; "" if it does not
}

// ReadFiles reads the account in the state directory of hostd, which may run.
func ReadFiles(state string) (Files, error) {
	dir := Dir(state)
	text, err := readFile(dir, rosterFile)
	if err != nil || text == nil {
		return Files{}, err
	}
	var f Files
	if f.Roster, err = seal.ParseRoster(text, "", seal.Position{}); err != nil {
		return Files{}, fmt.Errorf("%s: %w", filepath.Join(dir, rosterFile), err)
	}
	f.Fork, err = readFork(dir)
	return f, err
}

// Create stores the account of a machine that has none: its keys, and the roster in which it is a
// member. hostd must read the files afterwards.
func Create(state string, k *seal.Keys, r *seal.Roster) error {
	dir := Dir(state)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the account's directory: %w", err)
	}
	// Without the roster the machine has no account, so it is the last file.
	a := &account{dir: dir}
	if err := a.write(keysFile, k.Marshal()); err != nil {
		return err
	}
	return a.write(rosterFile, r.Text())
}

// Resolve stores the roster that the user has chosen after a fork, and removes the mark of the
// fork. hostd must read the files afterwards.
func Resolve(state string, r *seal.Roster) error {
	a := &account{dir: Dir(state)}
	if err := a.write(rosterFile, r.Text()); err != nil {
		return err
	}
	return removeFile(a.dir, forkFile)
}

// Remove deletes the account of a machine and all files in its directory. reload makes hostd read
// the files; it then admits all commands of the server.
func Remove(state string, reload func() error) error {
	dir := Dir(state)
	// hostd may write a file of the account until it has read that there is none. Without the
	// directory it cannot.
	left := dir + ".left"
	if err := errors.Join(os.RemoveAll(left), os.Rename(dir, left)); err != nil {
		return fmt.Errorf("remove the account: %w", err)
	}
	if err := reload(); err != nil {
		return errors.Join(err, os.Rename(left, dir))
	}
	if err := errors.Join(os.RemoveAll(left), userfile.SyncDir(state)); err != nil {
		return fmt.Errorf("remove the account: %w", err)
	}
	return nil
}

func removeFile(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a file of the account: %w", err)
	}
	return nil
}
