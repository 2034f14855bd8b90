package secret

import "errors"

// Error returns an error that wraps err. The secrets in its text, and in the texts of the errors
// that it wraps, are replaced by placeholders.
func (s *Set) Error(err error) error {
	if err == nil || s.Empty() {
		return err
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if s.Contains(e.Error()) {
			return &cleanedError{s, err}
		}
	}
	return err
}

// cleanedError is an error with a secret in its original text. errors.Is and errors.As find what
// the original error wraps; Unwrap returns a cleaned error.
type cleanedError struct {
	set *Set
	of  error
}

func (e *cleanedError) Error() string        { return e.set.Text(e.of.Error()) }
func (e *cleanedError) Unwrap() error        { return e.set.Error(errors.Unwrap(e.of)) }
func (e *cleanedError) Is(target error) bool { return errors.Is(e.of, target) }
func (e *cleanedError) As(target any) bool   { return errors.As(e.of, target) }
