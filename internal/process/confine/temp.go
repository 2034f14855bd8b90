package confine

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// tempPrefix begins the names of directories for temporary files. The process number of this
// process and its start time follow, so that another process can remove the directories of a
// killed one.
const tempPrefix = "concerto-"

// sweeps contains the directories in which removeAbandoned was called.
var sweeps sync.Map

// makeTemp creates a directory for the temporary files of a process with this environment.
func makeTemp(env []string) (string, error) {
	base, _ := procgroup.LookupEnv(env, "TMPDIR")
	base, err := filepath.Abs(cmp.Or(base, os.TempDir()))
	if err != nil {
		return "", err
	}
	if _, swept := sweeps.LoadOrStore(base, true); !swept {
		removeAbandoned(base)
	}
	return os.MkdirTemp(base, tempPrefix+ownerName(os.Getpid())+"-")
}

// removeAbandoned removes the directories of processes that were killed.
func removeAbandoned(base string) {
	all, _ := os.ReadDir(base) // if it cannot be read, nothing is removed
	for _, e := range all {
		parts := strings.Split(strings.TrimPrefix(e.Name(), tempPrefix), "-")
		if !e.IsDir() || len(parts) != 3 || !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		pid, err := strconv.Atoi(parts[0])
		if err == nil && ownerName(pid) != parts[0]+"-"+parts[1] {
			removeTemp(filepath.Join(base, e.Name()))
		}
	}
}

// removeTemp removes a directory, also if a process has removed permissions in it.
func removeTemp(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(at, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // what remains belongs to another user
}
