//go:build !linux

// Package inside confines nothing here.
package inside
