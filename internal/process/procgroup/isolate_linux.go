package procgroup

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate makes a process start in new namespaces. This also requires a new user namespace, in
// which the user of the process remains the same.
func isolate(a *syscall.SysProcAttr, c *Command) error {
	a.Cloneflags |= syscall.CLONE_NEWUSER
	if c.Isolated {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	if c.PrivateMounts {
		a.Cloneflags |= syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	if c.SetsUp {
		// A user other than root would lose its capabilities in the namespace when it executes the
		// program.
		a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_ADMIN}
	}
	return nil
}
