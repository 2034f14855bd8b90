package complexity

import (
	"fmt"
	"testing"
	"time"
)

// TestLinear checks that Linear detects quadratic growth and accepts linear growth.
func TestLinear(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(n int) time.Duration
		fail bool
	}{
		"multiple": {func(n int) time.Duration { return time.Duration(n) * time.Millisecond }, false},
		"square":   {func(n int) time.Duration { return time.Duration(n*n) * time.Millisecond }, true},
		"noise":    {func(n int) time.Duration { return time.Duration(n*n) * time.Microsecond }, false},
	} {
		r := &report{TB: t}
		Linear(r, 10, c.run)
		if (r.text != "") != c.fail {
			t.Errorf("%s: reported %q", name, r.text)
		}
	}
}

// TestCPUTime checks that CPUTime includes the computation of the process.
func TestCPUTime(t *testing.T) {
	sum := 0
	for n := 1 << 20; ; n *= 2 { // repeat until the system's counter changes
		if CPUTime(func() {
			for i := range n {
				sum += i * i
			}
		}) > 0 {
			break
		}
	}
	_ = sum
}

type report struct {
	testing.TB
	text string
}

func (r *report) Helper() {}

func (r *report) Errorf(format string, args ...any) { r.text = fmt.Sprintf(format, args...) }
