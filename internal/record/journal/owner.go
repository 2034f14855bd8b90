package journal

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Ran is how long processes have run the run: each from the record by which it took the run up
// to the last that it wrote.
func (h *History) Ran() time.Duration {
	return time.Duration(h.ran.before+h.ran.last-h.ran.from) * time.Millisecond
}

// ran is how long processes have run a run, in Unix milliseconds.
type ran struct{ before, from, last int64 }

// add takes the next record.
func (x *ran) add(r *Record) {
	switch r.K {
	case KStart:
		x.from = r.T
	case KResume:
		x.before, x.from = x.before+x.last-x.from, r.T
	}
	x.last = r.T
}

// Owner is the last that had the run.
func (h *History) Owner() Owner {
	owner := h.Records[0].Owner
	for _, r := range h.Records {
		if r.K == KResume {
			owner = r.Owner
		}
	}
	return owner
}

// byProcess is how a process names itself.
const byProcess = "process %d"

// Here is this process as the one that runs a run.
func Here() Owner {
	machine, _ := os.Hostname() // without one it is another one's
	space, _ := os.Readlink("/proc/self/ns/pid")
	return Owner{By: fmt.Sprintf(byProcess, os.Getpid()), Machine: machine, Boot: bootID(), PIDNS: space}
}

// Numbered returns the owner as the n-th of a run.
func (o Owner) Numbered(n int64) Owner {
	o.N = n
	return o
}

// Dead reports whether the process that has had the run is known to be gone: what it had begun to
// send it does not send any more. Of a process in another container nothing is known, even on this machine.
func (o Owner) Dead() bool {
	pid := 0
	if _, err := fmt.Sscanf(o.By, byProcess, &pid); err != nil || pid <= 0 {
		return false
	}
	here := Here()
	return o.Boot == here.Boot && o.PIDNS == here.PIDNS && (here.Boot != "" || o.Machine == here.Machine) && !runs(pid)
}

// bootID names the time since the machine was started; "" when it does not say.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}
