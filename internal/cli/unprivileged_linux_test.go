package cli

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// unprivileged replaces this process by a command that can open only files that their modes permit.
// It drops the capability by which root can open all files.
func unprivileged(args []string) int {
	path, err := exec.LookPath(args[0])
	if err == nil && os.Getuid() == 0 {
		runtime.LockOSThread()
		for _, may := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
			if derr := unix.Prctl(unix.PR_CAPBSET_DROP, may, 0, 0, 0); derr != nil {
				err = fmt.Errorf("drop a capability: %w", derr)
			}
		}
	}
	if err == nil {
		err = syscall.Exec(path, args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "unprivileged:", err)
	return 2
}
