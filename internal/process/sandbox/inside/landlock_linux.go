package inside

import (
	"fmt"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// Rights of Landlock. The system calls are used directly, because only this thread executes the
// command: the library restricts all threads, and needs /proc for that in a program with C.
const (
	readFile  = landlock.AccessFSExecute | landlock.AccessFSReadFile
	readDir   = readFile | landlock.AccessFSReadDir
	writeFile = readFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	writeDir  = readDir | writeFile | landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile | landlock.AccessFSMakeChar |
		landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo |
		landlock.AccessFSMakeBlock | landlock.AccessFSMakeSym | landlock.AccessFSRefer
)

// scoped is the oldest version of Landlock's ABI that can restrict signals to processes outside,
// and connections to their abstract sockets.
const scoped = 6

// files restricts access to the file system.
func files(p *sandbox.Plan) error {
	if !p.Files {
		return nil
	}
	have := sandbox.Landlock()
	if have < sandbox.LandlockNeeded {
		return fmt.Errorf("cannot restrict files: this machine has version %d of Landlock, but version %d is required", have, sandbox.LandlockNeeded)
	}
	rules := landlock.RulesetAttr{HandledAccessFS: writeDir}
	if p.Hide && have >= scoped {
		rules.Scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	fd, err := landlock.LandlockCreateRuleset(&rules, 0)
	if err != nil {
		return fmt.Errorf("cannot restrict files: %w", err)
	}
	defer unix.Close(fd)
	for _, list := range []struct {
		paths     []string
		dir, file uint64
	}{{p.Read, readDir, readFile}, {p.Write, writeDir, writeFile}} {
		for _, path := range list.paths {
			if err := allow(fd, path, list.dir, list.file); err != nil {
				return fmt.Errorf("cannot restrict files: %s: %w", path, err)
			}
		}
	}
	if p.Devices {
		for _, path := range sandbox.OwnDevices {
			if err := allow(fd, path, writeDir, writeFile); err != nil {
				return fmt.Errorf("cannot restrict files: %s: %w", path, err)
			}
		}
	}
	if err := landlock.LandlockRestrictSelf(fd, 0); err != nil {
		return fmt.Errorf("cannot restrict files: %w", err)
	}
	return nil
}

// allow adds a rule for a path: the rights of dir if it is a directory, otherwise those of file.
func allow(rules int, path string, dir, file uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	rights := file
	if s.Mode&unix.S_IFMT == unix.S_IFDIR {
		rights = dir
	}
	return landlock.LandlockAddPathBeneathRule(rules, &landlock.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0)
}
