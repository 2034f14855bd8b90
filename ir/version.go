package ir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotIR reports that a file is not a compiled program.
var ErrNotIR = errors.New("not a compiled Concerto program")

// ErrVersion reports that a file was written for an incompatible version of the format.
var ErrVersion = errors.New("unsupported IR version")

// checkVersion returns an error unless a program of version v can run. Its major number must equal
// the current one, and its minor number must not be greater than the current one.
func checkVersion(v string) error {
	major, minor, ok := splitVersion(v)
	if !ok {
		return fmt.Errorf("%w: version %q is not of the form \"major.minor\"", ErrNotIR, v)
	}
	ourMajor, ourMinor, _ := splitVersion(Version)
	switch {
	case major > ourMajor || major == ourMajor && minor > ourMinor:
		return fmt.Errorf("%w: compiled by a newer concerto (IR %s, supported: %s): upgrade concerto, or rebuild the program", ErrVersion, v, Version)
	case major < ourMajor:
		return fmt.Errorf("%w: compiled by an older concerto (IR %s, supported: %d.x): rebuild the program", ErrVersion, v, ourMajor)
	}
	return nil
}

func splitVersion(v string) (major, minor int, ok bool) {
	a, b, found := strings.Cut(v, ".")
	major, err1 := strconv.Atoi(a)
	minor, err2 := strconv.Atoi(b)
	ok = found && err1 == nil && err2 == nil && major >= 0 && minor >= 0
	return major, minor, ok
}
