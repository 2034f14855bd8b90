//go:build !linux

package sandbox

func landlock() int { return 0 }
