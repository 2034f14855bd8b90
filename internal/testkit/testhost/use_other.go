//go:build !linux

package testhost

import "errors"

var errNoMeasure = errors.New("a host can say what it uses on Linux only")

func useMemory(*player, string) error    { return errNoMeasure }
func useCPU(*player, string) error       { return errNoMeasure }
func useProcesses(*player, string) error { return errNoMeasure }
