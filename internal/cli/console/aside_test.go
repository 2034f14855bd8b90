package console

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slow reads on request only.
type slow struct {
	take chan struct{}
	got  strings.Builder
}

func (s *slow) Write(b []byte) (int, error) {
	<-s.take
	return s.got.Write(b)
}

// TestAside: a stuck pipe delays one write for a moment and no other. Writes
// beyond the limit are counted; all others are written in order.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{take: make(chan struct{})}
		a := newAside(s, 10)
		begun := time.Now()
		for _, text := range []string{"one ", "two ", "three ", "lost ", "lost "} {
			if n, err := io.WriteString(a, text); n != len(text) || err != nil {
				t.Error(n, err)
			}
		}
		if took := time.Since(begun); took != patience {
			t.Errorf("it held up for %s", took)
		}
		a.flush(farewell)
		if took := time.Since(begun); took != patience+farewell {
			t.Errorf("the end held up for %s", took)
		}
		close(s.take)
		a.flush(farewell)
		if want := "one two three concerto: 2 pieces of this were not written: nobody read them in time\n"; s.got.String() != want {
			t.Errorf("%q, want %q", s.got.String(), want)
		}
		begun = time.Now()
		_, _ = io.WriteString(a, "again")
		if took := time.Since(begun); took != 0 || !strings.HasSuffix(s.got.String(), "again") {
			t.Error(took, s.got.String())
		}
	})
}

// TestAsideFails: the next writer receives the error of a closed pipe.
func TestAsideFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		broken := errors.New("broken")
		_ = r.CloseWithError(broken)
		a := newAside(w, 10)
		_, _ = io.WriteString(a, "x")
		if _, err := io.WriteString(a, "y"); err != broken {
			t.Error(err)
		}
	})
}
