// Package relaytest plays the relay as a whole, in processes of its own: server, hostd and
// the shims of its runs, with proxies between them, killed at random (its API promises nothing).
package relaytest
