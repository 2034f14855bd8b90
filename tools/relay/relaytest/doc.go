// Package relaytest tests the whole relay in separate processes: the server, hostd, and the PTY
// holders of its runs, with proxies between them. The tests kill these processes at random.
package relaytest
