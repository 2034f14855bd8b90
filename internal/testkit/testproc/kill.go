package testproc

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// RunAndKill runs this test binary with additional environment entries, "NAME=value", until it has
// printed after numbers, one per line, and kills it. It returns the last printed number.
func RunAndKill(environ string, after int) (last int64, err error) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), environ)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return 0, err
	}
	lines, n := bufio.NewScanner(out), 0
	for ; lines.Scan(); n++ {
		number, bad := strconv.ParseInt(lines.Text(), 10, 64)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("the killed process printed %q instead of a number", lines.Text()))
			continue
		}
		if last = number; n == after {
			_ = c.Process.Kill()
		}
	}
	_ = c.Wait() // it was killed
	if n <= after {
		err = errors.Join(err, fmt.Errorf("the process printed %d numbers and exited before it was killed", n))
	}
	return last, err
}
