//go:build !linux

// Package inside does nothing on this system.
package inside
