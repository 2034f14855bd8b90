//go:build !race

package randtest

// Raced reports whether the race detector is in the binary.
const Raced = false
