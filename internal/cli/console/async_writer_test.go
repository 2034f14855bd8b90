package console

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gatedWriter blocks each write until the test opens the gate.
type gatedWriter struct {
	gate chan struct{}
	got  strings.Builder
}

func (s *gatedWriter) Write(b []byte) (int, error) {
	<-s.gate
	return s.got.Write(b)
}

// TestAsyncWriter checks that a stuck pipe delays only the first write. Writes beyond the limit are
// dropped and counted. All others are written in order.
func TestAsyncWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gatedWriter{gate: make(chan struct{})}
		a := newAsyncWriter(s, 10)
		begun := time.Now()
		for _, text := range []string{"one ", "two ", "three ", "lost ", "lost "} {
			if n, err := io.WriteString(a, text); n != len(text) || err != nil {
				t.Error(n, err)
			}
		}
		if took := time.Since(begun); took != writeTimeout {
			t.Errorf("the writes took %s, want writeTimeout", took)
		}
		a.flush(flushTimeout)
		if took := time.Since(begun); took != writeTimeout+flushTimeout {
			t.Errorf("the writes and flush took %s, want writeTimeout+flushTimeout", took)
		}
		close(s.gate)
		a.flush(flushTimeout)
		if want := "one two three concerto: dropped 2 writes because the reader of this output is too slow\n"; s.got.String() != want {
			t.Errorf("the pipe received %q, want %q", s.got.String(), want)
		}
		begun = time.Now()
		_, _ = io.WriteString(a, "again")
		if took := time.Since(begun); took != 0 || !strings.HasSuffix(s.got.String(), "again") {
			t.Error(took, s.got.String())
		}
	})
}

// TestAsyncWriterFails checks that a write after the pipe was closed returns its error.
func TestAsyncWriterFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		broken := errors.New("broken")
		_ = r.CloseWithError(broken)
		a := newAsyncWriter(w, 10)
		_, _ = io.WriteString(a, "x")
		if _, err := io.WriteString(a, "y"); err != broken {
			t.Error(err)
		}
	})
}
