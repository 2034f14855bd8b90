// Package testproc waits, in tests, for processes that are not the test's own children and for the
// files that they create.
package testproc
