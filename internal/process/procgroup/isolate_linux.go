package procgroup

import (
	"os"
	"syscall"
)

// isolate makes a process start in a new, empty network namespace. This also requires a new user
// namespace, in which the user of the process remains the same.
func isolate(a *syscall.SysProcAttr) error {
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	return nil
}
