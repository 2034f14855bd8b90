//go:build race

package cli

// raced says that the race detector is in this binary, and so in the commands
// that the tests start. It takes several times the memory and the time. So tests
// of memory use are skipped with it, and tests that only repeat the runs of
// other tests.
const raced = true
