package procgroup

import (
	"os"
	"syscall"
)

// isolate has a process begin in a network of its own, in which there is nothing, and as
// the user that it is in a user namespace of its own, without which it may not.
func isolate(a *syscall.SysProcAttr) error {
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	return nil
}
