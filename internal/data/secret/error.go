package secret

// Error returns an error that wraps err with the secrets in its text replaced by marks.
func (s *Set) Error(err error) error {
	if err == nil || s.Empty() {
		return err
	}
	text := err.Error()
	if clean := s.Text(text); clean != text {
		return &cleaned{err, clean}
	}
	return err
}

// cleaned is an error whose text contained a secret.
type cleaned struct {
	error
	text string
}

func (e *cleaned) Error() string { return e.text }
func (e *cleaned) Unwrap() error { return e.error }
