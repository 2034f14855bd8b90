package keeper

import "syscall"

// hangup is a signal that the keeper ignores. A page has no SIGHUP and no keeper.
const hangup = syscall.SIGINT
