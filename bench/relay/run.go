package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// emits is a program that emits a small object n times.
const emits = `fn main() {
    for i in 0..20000 {
        emit("progress", {n: i, of: 20000, what: "a step of what an agent does"});
    }
}
`

// spent is the cost of a process: CPU time and wall time.
type spent struct{ cpu, wall time.Duration }

// quartile returns the lower quartile of both costs. Load on the machine affects it less than the
// median. all must not be empty.
func quartile(all []spent) (m spent) {
	for _, of := range []func(*spent) *time.Duration{func(s *spent) *time.Duration { return &s.cpu }, func(s *spent) *time.Duration { return &s.wall }} {
		var each []time.Duration
		for i := range all {
			each = append(each, *of(&all[i]))
		}
		slices.Sort(each)
		*of(&m) = each[len(each)/4]
	}
	return m
}

// reporting compares the cost of a run that reports to the relay with the cost of a run that does
// not. The runs alternate.
func reporting(rounds int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		if err := l.forRuns(); err != nil {
			return "", err
		}
		ways := []struct {
			name string
			args []string
			all  []spent
		}{{name: "without"}, {name: "no hostd", args: []string{"--share=" + l.path("nowhere")}}, {name: "hostd", args: []string{"--share=" + l.path("sock")}}}
		for range rounds {
			for i := range ways {
				s, err := l.spend(append([]string{"run", "-q"}, append(ways[i].args, l.path("emits.conc"))...)...)
				if err != nil {
					return "", err
				}
				ways[i].all = append(ways[i].all, s)
			}
		}
		text, bare := "", quartile(ways[0].all)
		for i := range ways {
			m := quartile(ways[i].all)
			text += fmt.Sprintf("%s: CPU %.1f ms (%.3f), wall %.1f ms (%.3f); ", ways[i].name, ms(m.cpu), ms(m.cpu)/ms(bare.cpu), ms(m.wall), ms(m.wall)/ms(bare.wall))
		}
		return text[:len(text)-2], nil
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// forRuns builds the command, and starts a server and a hostd.
func (l *lab) forRuns() error {
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", l.path("bin-concerto"), "./cmd/concerto")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	for name, text := range map[string]string{"emits.conc": emits, "token": "secret"} {
		if err := os.WriteFile(l.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if _, _, err := l.serve(); err != nil {
		return err
	}
	_, _, _, err := l.start(nil, "hostd", "--server", l.url, "--host-id", "host_a", "--token-file", l.path("token"), "--state", l.path("state"), "--socket", l.path("sock"), "--root", l.dir)
	return err
}

// spend runs the command to its end and waits until hostd has processed its events.
func (l *lab) spend(args ...string) (s spent, err error) {
	c := exec.Command(l.path("bin-concerto"), args...)
	c.Stderr = os.Stderr
	begun := time.Now()
	err = c.Run()
	s.wall = time.Since(begun)
	if err != nil {
		return s, fmt.Errorf("%v: %w", args, err)
	}
	s.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	for before := l.spentByAll(); ; { // wait until the daemons are idle, so that their work does not count for the next run
		time.Sleep(30 * time.Millisecond)
		now := l.spentByAll()
		if now == before {
			return s, nil
		}
		before = now
	}
}

// spentByAll returns the total CPU time of the daemons in ticks.
func (l *lab) spentByAll() (sum int64) {
	for _, c := range l.procs {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		var skip string
		var user, system int64
		fields := []any{}
		for range 13 {
			fields = append(fields, &skip)
		}
		if _, err := fmt.Sscan(string(text), append(fields, &user, &system)...); err == nil {
			sum += user + system
		}
	}
	return sum
}
