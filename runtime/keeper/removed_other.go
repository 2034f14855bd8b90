//go:build !unix

package keeper

import "os"

// isRemoved returns false, because a system without keepers does not need it.
func isRemoved(*os.File) bool { return false }
