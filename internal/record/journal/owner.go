package journal

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Ran returns the duration for which processes have run the run. For each process, it is the time
// from its first to its last record.
func (h *History) Ran() time.Duration {
	return time.Duration(h.ran.before+h.ran.last-h.ran.from) * time.Millisecond
}

// ran measures how long processes have run a run. before is the duration of earlier processes in
// milliseconds. from and last are the times of the current process's first and last record in Unix
// milliseconds.
type ran struct{ before, from, last int64 }

// add adds the next record of the journal.
func (x *ran) add(r *Record) {
	switch r.K {
	case KStart:
		x.from = r.T
	case KResume:
		x.before, x.from = x.before+x.last-x.from, r.T
	}
	x.last = r.T
}

// Owner returns the process that has run the run last.
func (h *History) Owner() Owner {
	owner := h.Records[0].Owner
	for _, r := range h.Records {
		if r.K == KResume {
			owner = r.Owner
		}
	}
	return owner
}

// byProcess is the format of Owner.By for a process.
const byProcess = "process %d"

// Here returns this process as an owner.
func Here() Owner {
	machine, _ := os.Hostname() // a machine without a name matches no other machine
	space, _ := os.Readlink("/proc/self/ns/pid")
	return Owner{By: fmt.Sprintf(byProcess, os.Getpid()), Machine: machine, Boot: bootID(), PIDNS: space}
}

// Numbered returns the owner with its number n in the sequence of the run's processes.
func (o Owner) Numbered(n int64) Owner {
	o.N = n
	return o
}

// HasExited reports whether the owner's process has certainly exited, so that it cannot send
// anything. It returns false for a process in another container, even on this machine.
func (o Owner) HasExited() bool {
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
