// Package localowner identifies processes of this machine as owners of runs.
package localowner

import (
	"fmt"
	"os"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// byProcess is the format of Owner.By for a process.
const byProcess = "process %d"

// Here returns this process as an owner.
func Here() journal.Owner {
	machine, _ := os.Hostname() // a machine without a name matches no other machine
	space, _ := os.Readlink("/proc/self/ns/pid")
	return journal.Owner{By: fmt.Sprintf(byProcess, os.Getpid()), Machine: machine, Boot: bootID(), PIDNS: space}
}

// HasExited reports whether the process of an owner has certainly exited, so that it cannot send
// anything. It returns false for a process in another container, even on this machine.
func HasExited(o journal.Owner) bool {
	pid := 0
	if _, err := fmt.Sscanf(o.By, byProcess, &pid); err != nil || pid <= 0 {
		return false
	}
	here := Here()
	return o.Boot == here.Boot && o.PIDNS == here.PIDNS && (here.Boot != "" || o.Machine == here.Machine) && !processExists(pid)
}

// bootID returns the id of the machine's current boot, or "" if it is unknown.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}
