//go:build !unix && !windows

package audit

import (
	"fmt"
	"os"
	"runtime"
)

// lock returns an error, because two processes without a lock could break the chain.
func lock(f *os.File, what string) error {
	return fmt.Errorf("%s %s: files cannot be locked on %s", what, f.Name(), runtime.GOOS)
}
