//go:build race

package randtest

const raced = true
