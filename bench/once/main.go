//go:build unix

// Command once runs a command and writes its costs to descriptor 3: wall and CPU time in
// microseconds, and peak resident memory in bytes.
//
// On Linux the peak memory of a process includes the resident memory of the process that started
// it, because exec does not reset it. This small process therefore starts the measured ones.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: once COMMAND ARGS…")
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fail(err)
	}
	state := cmd.ProcessState
	var memory int64
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		memory = usage.Maxrss << 10
	}
	if _, err := fmt.Fprintln(os.NewFile(3, "result"), wall.Microseconds(), (state.UserTime() + state.SystemTime()).Microseconds(), memory); err != nil {
		fail(err)
	}
	if err != nil {
		os.Exit(max(state.ExitCode(), 1))
	}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, "once:", what)
	os.Exit(1)
}
