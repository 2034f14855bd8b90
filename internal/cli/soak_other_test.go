//go:build !linux

package cli

func soak() {}
