//go:build !linux

package testhost

import "errors"

var errNoMeasure = errors.New("a host can say what it uses on Linux only")

func useMemory(*process, string) error    { return errNoMeasure }
func useCPU(*process, string) error       { return errNoMeasure }
func useProcesses(*process, string) error { return errNoMeasure }
