//go:build !unix

package keeper

import "os"

// isRemoved returns false: systems without a keeper do not need it.
func isRemoved(*os.File) bool { return false }
