// Package few has a few mutants, of which its tests notice some.
package few

import "errors"

// Sum adds the numbers from 1 to n: each change is noticed.
func Sum(n int) int {
	s := 0
	for i := 1; i <= n; i++ {
		s += i
	}
	return s
}

// Larger is tested with different numbers alone.
func Larger(a, b int) bool { return a > b }

// Find is tested with what there is alone.
func Find(names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, errors.New("there is none")
}

// Log forgets: nobody looks at what it keeps.
func Log(text string) {
	kept = append(kept, text)
}

var kept []string

// Sure must end by a panic to compile.
func Sure(ok bool) int {
	if ok {
		return 1
	}
	panic("not sure")
}

// Spin counts down, and never ends when it does not.
func Spin(n int) int {
	for n > 0 {
		n--
	}
	return n + 1
}
