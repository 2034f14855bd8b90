//go:build !linux

package procgroup

import (
	"errors"
	"runtime"
)

var guards guardian

// guardian is not used on this system: it needs Linux's /proc.
type guardian struct{}

func (guardian) watch(*Run) error {
	return errors.New("on " + runtime.GOOS + " nothing watches over processes")
}

func (guardian) add(*Run, int) {}

func (guardian) gone(int) {}

func (guardian) forget(string) {}

// Farewell does nothing on this system.
func Farewell() {}
