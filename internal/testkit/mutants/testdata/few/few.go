// Package few has a few mutants; its tests detect some of them.
package few

import "errors"

// Sum adds the numbers from 1 to n. The tests detect each change.
func Sum(n int) int {
	s := 0
	for i := 1; i <= n; i++ {
		s += i
	}
	return s
}

// Larger is only tested with different numbers.
func Larger(a, b int) bool { return a > b }

// Find is only tested with existing names.
func Find(names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, errors.New("there is none")
}

// Log appends to a slice that no code reads.
func Log(text string) {
	kept = append(kept, text)
}

var kept []string

// Sure must end with a panic to compile.
func Sure(ok bool) int {
	if ok {
		return 1
	}
	panic("not sure")
}

// Spin counts down; a mutant of it loops forever.
func Spin(n int) int {
	for n > 0 {
		n--
	}
	return n + 1
}
