package secret

// Error returns an error that wraps err. The secrets in its text are replaced by placeholders.
func (s *Set) Error(err error) error {
	if err == nil || s.Empty() {
		return err
	}
	text := err.Error()
	if clean := s.Text(text); clean != text {
		return &cleanedError{err, clean}
	}
	return err
}

// cleanedError is an error with a secret in its original text.
type cleanedError struct {
	error
	text string
}

func (e *cleanedError) Error() string { return e.text }
func (e *cleanedError) Unwrap() error { return e.error }
