package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// allocation contains what the run of a Concerto program allocated on Go's heap, without the
// compilation.
type allocation struct{ bytes, objects int64 }

// allocations runs a program with bench/inside and returns its allocations.
func (l *lab) allocations(program string) (allocation, error) {
	cmd := exec.Command(l.bin("inside"), program)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return allocation{}, fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	var a allocation
	for line := range strings.Lines(string(out)) {
		if n, _ := fmt.Sscanf(line, "allocated %d bytes, %d objects", &a.bytes, &a.objects); n == 2 {
			return a, nil
		}
	}
	return a, fmt.Errorf("%s: the output contains no allocations: %q", program, out)
}

// per formats the allocation for each of ops operations.
func (a allocation) per(ops int, op string) string {
	return fmt.Sprintf("%s B, %s objects a %s", small(float64(a.bytes)/float64(ops)), small(float64(a.objects)/float64(ops)), op)
}

// small formats a number that is often close to zero.
func small(v float64) string {
	if v < 0.005 {
		return "0"
	}
	return number(v)
}
