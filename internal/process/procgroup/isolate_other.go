//go:build unix && !linux

package procgroup

import (
	"errors"
	"syscall"
)

func isolate(*syscall.SysProcAttr, *Command) error {
	return errors.New("only Linux supports namespaces")
}
