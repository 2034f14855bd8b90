// Package inside confines this process according to a sandbox.Plan and executes the command of the
// plan, if the program was started as `concerto host sandbox PLAN`. It is enough to import the
// package: it acts when it is initialised, before most of the program.
package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

func init() {
	if n := len(sandbox.Args); len(os.Args) == n+2 && os.Args[1] == sandbox.Args[0] && os.Args[2] == sandbox.Args[1] {
		os.Exit(executePlan(os.Args[n+1]))
	}
}

// executePlan executes a plan. It returns an exit code only if the execution fails or if the plan
// contains no command.
func executePlan(text string) int {
	var p sandbox.Plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		runtime.LockOSThread() // the confined thread must execute the command
		err = confine(&p)
	}
	if err == nil && len(p.Run) > 0 {
		if err = syscall.Exec(p.Run[0], p.Run, os.Environ()); p.Hide && errors.Is(err, os.ErrNotExist) {
			err = errors.New("it, or its interpreter, is not in the sandbox: add it to `read`")
		}
		err = fmt.Errorf("cannot run %s in its sandbox: %w", p.Run[0], err)
	}
	if err != nil {
		if p.Reports {
			_ = unix.Sendto(sandbox.ReportFD, []byte(err.Error()), 0, nil) // standard error has it, too
		}
		fmt.Fprintln(os.Stderr, err)
		return sandbox.Failed
	}
	return 0
}

func confine(p *sandbox.Plan) error {
	if p.Reports {
		unix.CloseOnExec(sandbox.ReportFD) // its end means that the command was executed
	}
	if p.Hide {
		if err := hide(p); err != nil {
			return fmt.Errorf("cannot hide files: %w", err)
		}
	}
	if p.Loopback {
		if err := network(p); err != nil {
			return fmt.Errorf("cannot set up its network: %w", err)
		}
	}
	if p.Strip {
		if err := dropCapabilities(); err != nil {
			return fmt.Errorf("cannot give up its capabilities: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot disable gaining privileges: %w", err)
	}
	if err := files(p); err != nil {
		return err
	}
	return errors.Join(limit(syscall.RLIMIT_NOFILE, p.OpenFiles), limit(syscall.RLIMIT_FSIZE, p.FileMB<<20))
}

// limit sets a resource limit of this process. The parent process could set limits only after the
// command has started.
func limit(which int, most uint64) error {
	if most == 0 {
		return nil
	}
	if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("cannot set its limits: %w", err)
	}
	return nil
}

// dropCapabilities removes all capabilities, also those that executing a program as root would
// restore.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		// A kernel without this capability returns EINVAL, a process without the permission EPERM.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
			return err
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}
