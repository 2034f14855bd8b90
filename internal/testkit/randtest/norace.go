//go:build !race

package randtest

// Raced reports whether the race detector is active.
const Raced = false
