package userfile

import (
	"errors"
	"testing"
	"time"
)

// TestRetryRename checks that a replacement is tried again while the file is in use, for a second,
// and that other errors end it.
func TestRetryRename(t *testing.T) {
	inUse, other := errors.New("in use"), errors.New("other")
	for _, c := range []struct {
		name    string
		results []error // of the attempts; the last one is repeated
		want    error
		waited  time.Duration
	}{
		{"at once", []error{nil}, nil, 0},
		{"after two attempts", []error{inUse, inUse, nil}, nil, 2 * replacePause},
		{"never", []error{inUse}, inUse, replaceTime},
		{"another error", []error{inUse, other}, other, replacePause},
	} {
		attempts, waited := 0, time.Duration(0)
		rename := func() error {
			attempts++
			return c.results[min(attempts, len(c.results))-1]
		}
		err := retryRename(rename, func(err error) bool { return err == inUse }, func(d time.Duration) { waited += d })
		if err != c.want || waited != c.waited {
			t.Errorf("%s: %v after %v, want %v after %v", c.name, err, waited, c.want, c.waited)
		}
	}
}
