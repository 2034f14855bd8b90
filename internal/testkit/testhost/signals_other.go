//go:build !unix

package testhost

import "errors"

var errNoSignals = errors.New("this system has no signals")

func groupOf() int { return 0 }

func killSelf(string) error { return errNoSignals }

func ignoreTerm() {}

func noteTerm(string) {}

func spawnGrandchild(string, string) error { return errNoSignals }

func grandchild(string) int { return 64 }

func stopSelf() error { return errNoSignals }
