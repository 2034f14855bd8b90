package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// outcome is the cost and output of a process.
type outcome struct {
	wall, cpu float64 // in milliseconds
	memory    int64   // peak resident memory in bytes; at least about 8 MB
	out       string
}

// process runs a command and waits for its end.
func (l *lab) process(dir string, command ...string) (outcome, error) {
	if _, err := exec.LookPath(command[0]); err != nil {
		return outcome{}, fmt.Errorf("%s is not installed", command[0])
	}
	read, write, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	defer read.Close()
	cmd := exec.Command(l.bin("once"), command...)
	cmd.Dir = dir
	cmd.ExtraFiles = []*os.File{write}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	write.Close()
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
	}
	var wall, cpu, memory int64
	if _, err := fmt.Fscan(read, &wall, &cpu, &memory); err != nil {
		return outcome{}, fmt.Errorf("read what %s took: %w", strings.Join(command, " "), err)
	}
	return outcome{wall: float64(wall) / 1000, cpu: float64(cpu) / 1000, memory: memory, out: strings.TrimSpace(string(text))}, nil
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// best repeats a short measurement and returns the smallest result.
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
