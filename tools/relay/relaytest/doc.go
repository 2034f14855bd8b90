// Package relaytest runs the whole relay in separate processes: server, hostd and the shims of its
// runs, with proxies between them, killed at random (its API promises nothing).
package relaytest
