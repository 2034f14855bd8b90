package pkg

import "fmt"

// ErrorKind determines the exit code of a command that fails because of a package.
type ErrorKind uint8

// The kinds of errors.
const (
	Refused     ErrorKind = iota // the user must change something: exit code 2
	Unavailable                  // a package could not be fetched or stored: exit code 1
	Changed                      // content differs from the lock file: exit code 76
)

// Error is an error about a package. Hint is the next step, or "".
type Error struct {
	Kind          ErrorKind
	Message, Hint string
}

func (e *Error) Error() string { return e.Message }

// Unusable returns the error for a package whose content is not allowed.
func Unusable(name, reason string) *Error {
	return Errorf(Refused, "the package must be corrected, or require another version of it", "%s cannot be used: %s", name, reason)
}

// RepairHint is the next step for a package in the cache that was changed.
const RepairHint = "run `concerto verify --repair`, which fetches it again"

// Modified returns the error for a stored package that differs from the lock file.
func Modified(name, expected, found, hint string) *Error {
	return Errorf(Changed, hint, "%s was changed after it was fetched: expected %s, found %s", name, expected, found)
}

// Errorf returns an error of a kind.
func Errorf(kind ErrorKind, hint, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...), hint}
}
