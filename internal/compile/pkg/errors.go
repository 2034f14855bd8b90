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

// Errorf returns an error of a kind.
func Errorf(kind ErrorKind, hint, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...), hint}
}
