//go:build race

package randtest

// Raced reports whether the race detector is in the binary. It multiplies memory and time, so tests
// that measure either, and tests that only repeat runs of other tests, skip with it.
const Raced = true
