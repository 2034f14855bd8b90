//go:build !linux

package keeper

// bootID returns "", so that a client must try to connect to determine whether a keeper is running.
func bootID() string { return "" }
