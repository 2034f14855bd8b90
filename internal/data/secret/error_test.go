package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// TestErrorChain checks that no error of a chain contains the secret, and that the chain still
// wraps the same errors.
func TestErrorChain(t *testing.T) {
	var s Set
	s.Add("KEY", "sk-0123456789")
	inner := &fs.PathError{Op: "open", Path: "sk-0123456789", Err: fs.ErrNotExist}
	for _, err := range []error{inner, fmt.Errorf("load: %w", inner), hiding{inner}} {
		clean := s.Error(err)
		for e := clean; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), "sk-") {
				t.Errorf("%v: the chain contains %q", err, e)
			}
		}
		if path, ok := errors.AsType[*fs.PathError](clean); !ok || path != inner || !errors.Is(clean, fs.ErrNotExist) {
			t.Errorf("%v: the cleaned error does not wrap the original ones", err)
		}
	}
	if err := fmt.Errorf("no secret: %w", fs.ErrExist); s.Error(err) != err {
		t.Error("an error without secrets was changed")
	}
}

// hiding is an error whose text does not contain that of the error it wraps.
type hiding struct{ of error }

func (hiding) Error() string   { return "something failed" }
func (h hiding) Unwrap() error { return h.of }
