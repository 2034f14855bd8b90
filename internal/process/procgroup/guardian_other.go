//go:build !linux

package procgroup

import (
	"errors"
	"runtime"
)

var guards guardian

// guardian does nothing on this system, because it needs Linux's /proc.
type guardian struct{}

func (guardian) watchRun(*Run) error {
	return errors.New("on " + runtime.GOOS + " nothing watches over processes")
}

func (guardian) addGroup(*Run, int) {}

func (guardian) removeGroup(int) {}

func (guardian) forgetRun(string) {}

// Farewell does nothing on this system.
func Farewell() {}
