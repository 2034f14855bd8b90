package confine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// tempPattern is the pattern of the names of directories for temporary files.
const tempPattern = "concerto-host-*"

// sweeps contains the directories in which removeAbandoned was called.
var sweeps sync.Map

// makeTemp creates a directory for the temporary files of a process with this environment. The
// directory is locked while this process lives or until remove is called, so that another process
// can remove the directories of a killed one.
func makeTemp(env []string) (dir string, remove func(), err error) {
	base, _ := procgroup.LookupEnv(env, "TMPDIR")
	if base, err = filepath.Abs(cmp.Or(base, os.TempDir())); err != nil {
		return "", nil, err
	}
	if _, swept := sweeps.LoadOrStore(base, true); !swept {
		removeAbandoned(base)
	}
	for {
		dir, err := os.MkdirTemp(base, tempPattern)
		if err != nil {
			return "", nil, err
		}
		unlock, err := lockDir(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EWOULDBLOCK):
			continue // removeAbandoned of another process removes it
		case err != nil:
			return "", nil, errors.Join(err, os.Remove(dir))
		}
		return dir, func() {
			_ = userfile.RemoveAll(dir) // the rest belongs to another user
			unlock()
		}, nil
	}
}

// removeAbandoned removes the directories that no process has locked.
func removeAbandoned(base string) {
	all, _ := filepath.Glob(filepath.Join(base, tempPattern)) // the pattern is valid
	for _, dir := range all {
		if unlock, err := lockDir(dir); err == nil {
			_ = userfile.RemoveAll(dir) // the rest belongs to another user
			unlock()
		}
	}
}
