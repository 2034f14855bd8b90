package testhost

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// retained references the allocated memory, so that it stays in use.
var retained [][]byte

// resource is a limited resource that the host uses up on purpose.
type resource struct {
	used func() (float64, error)
	more func() error // uses a little more of the resource
}

var (
	// resident memory in MiB
	memory = resource{residentMB, func() error {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 1 << 10 {
			b[i] = 1
		}
		retained = append(retained, b)
		return nil
	}}
	// processor time in seconds, over all threads
	cpu = resource{cpuSeconds, func() error {
		for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
		}
		return nil
	}}
	// number of processes: this one and its children
	processes = resource{func() (float64, error) { return float64(1 + started), nil }, func() error {
		started++
		return exec.Command("sleep", "60").Start()
	}}
	started int
)

// use runs the step "LIMIT MOST FILE". It uses MOST of a resource. In FILE it stores the last time
// at which the use was within LIMIT. FILE exists from the start, because the process may be killed
// at any time.
func (r *resource) use(p *process, arg string) error {
	f := strings.Fields(arg)
	if len(f) != 3 {
		return fmt.Errorf("%q is not LIMIT MOST FILE", arg)
	}
	limit, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return err
	}
	most, err := strconv.ParseFloat(f[1], 64)
	if err != nil {
		return err
	}
	within, err := os.OpenFile(p.path(f[2]), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer within.Close()
	for {
		now := time.Now().UnixNano()
		used, err := r.used()
		if err != nil {
			return err
		}
		if used <= limit {
			if _, err := within.WriteAt(fmt.Appendln(nil, now), 0); err != nil {
				return err
			}
		}
		if used >= most {
			return nil
		}
		if err := r.more(); err != nil {
			return err
		}
	}
}

func residentMB() (float64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.Atoi(string(bytes.Fields(text)[1]))
	return float64(pages*os.Getpagesize()) / (1 << 20), err
}

func cpuSeconds() (float64, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), err
}

func useMemory(p *process, arg string) error    { return memory.use(p, arg) }
func useCPU(p *process, arg string) error       { return cpu.use(p, arg) }
func useProcesses(p *process, arg string) error { return processes.use(p, arg) }
