package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// An outcome is what a process took and printed.
type outcome struct {
	wall, cpu float64 // milliseconds
	memory    int64   // bytes resident at most; not less than what this process had when it started it
	out       string
}

// process runs a command to its end.
func process(dir string, command ...string) (outcome, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	text, err := cmd.Output()
	wall := milli(time.Since(start))
	if err != nil {
		if missing := (*exec.Error)(nil); errors.As(err, &missing) {
			return outcome{}, fmt.Errorf("%s is not installed", command[0])
		}
		return outcome{}, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
	}
	state := cmd.ProcessState
	r := outcome{wall: wall, cpu: milli(state.UserTime() + state.SystemTime()), out: strings.TrimSpace(string(text))}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		r.memory = usage.Maxrss << 10
	}
	return r, nil
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// best repeats a short measurement and keeps the least.
func best(times int, f func() (float64, error)) (float64, error) {
	least := 0.0
	for range times {
		v, err := f()
		if err != nil {
			return 0, err
		}
		if least == 0 || v < least {
			least = v
		}
	}
	return least, nil
}
