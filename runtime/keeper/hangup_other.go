//go:build !js

package keeper

import "syscall"

// hangup is the signal of a terminal that was closed, which the keeper ignores.
const hangup = syscall.SIGHUP
