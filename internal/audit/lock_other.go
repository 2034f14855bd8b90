//go:build !unix

package audit

import (
	"fmt"
	"os"
	"runtime"
)

// lock refuses: without a lock two processes would break the chain.
func lock(f *os.File) error {
	return fmt.Errorf("audit log %s: files cannot be locked on %s", f.Name(), runtime.GOOS)
}
