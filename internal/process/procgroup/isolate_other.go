//go:build unix && !linux

package procgroup

import (
	"errors"
	"syscall"
)

func isolate(*syscall.SysProcAttr) error {
	return errors.New("only Linux supports network namespaces")
}
