//go:build race

package randtest

// Raced reports whether the race detector is active. The detector multiplies memory and time. Tests
// that measure memory or time, and tests that only repeat runs of other tests, are therefore
// skipped.
const Raced = true
