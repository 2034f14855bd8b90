// Package testproc waits, in tests, for what processes do that are not the test's own
// children: their end, and the files that they make.
package testproc
