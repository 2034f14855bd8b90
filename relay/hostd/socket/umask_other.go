//go:build !unix

package socket

func umask(mask int) int { return mask }
