package sandbox

import "syscall"

// Arguments of the system call that returns the version of Landlock's ABI. Its number is the same
// on all architectures.
const (
	sysLandlockCreateRuleset = 444
	asksVersion              = 1
)

func landlock() int {
	version, _, failed := syscall.Syscall(sysLandlockCreateRuleset, 0, 0, asksVersion)
	if failed != 0 {
		return 0
	}
	return int(version)
}
