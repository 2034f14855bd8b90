//go:build !linux

package procgroup

import (
	"errors"
	"runtime"
)

var guards guardian

// guardian does nothing on this system: it needs Linux's /proc, and Windows has job objects.
type guardian struct{}

func (guardian) watchRun(*Run) error {
	if runtime.GOOS == windowsSystem {
		return nil // the system closes the job objects of a process that exits
	}
	return errors.New("on " + runtime.GOOS + " nothing watches over processes")
}

func (guardian) addGroup(*Run, int) {}

func (guardian) removeGroup(int) {}

func (guardian) forgetRun(string) {}

// Farewell does nothing on this system.
func Farewell() {}
