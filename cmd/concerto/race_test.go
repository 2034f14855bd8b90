//go:build race

package main

// raced says that the race detector is in this binary, and so in the commands
// that the tests start. It takes several times the memory and the time: tests of
// memory, and those that only run again what other tests run, are for without.
const raced = true
