//go:build !unix

package workdirfs

const nonblocking = 0
