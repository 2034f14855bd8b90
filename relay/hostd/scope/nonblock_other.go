//go:build !unix

package scope

const nonblocking = 0
