//go:build race

package randtest

// Raced reports whether the race detector is in the binary. It takes several times the memory and the time, so tests of
// memory use are skipped with it, and tests that only repeat the runs of other tests.
const Raced = true
