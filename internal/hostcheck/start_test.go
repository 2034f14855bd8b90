package hostcheck

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/ndjson"
	"github.com/concerto-lang/concerto/runtime/host"
)

// hasty is a host that hears nothing: after some time it says a line, if it has one,
// and leaves.
type hasty struct {
	after time.Duration
	says  string
	exit  host.Exit

	spoke bool
	gone  chan struct{}
	end   sync.Once
}

func (h *hasty) Connect(*host.Config, host.Surroundings) (host.Conn, error) {
	h.gone = make(chan struct{})
	return h, nil
}

func (h *hasty) Read() (ndjson.Line, error) {
	t := time.NewTimer(h.after)
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.gone:
		return ndjson.Line{}, io.EOF
	}
	if h.says != "" && !h.spoke {
		h.spoke = true
		return ndjson.Line{Text: []byte(h.says)}, nil
	}
	h.leave()
	return ndjson.Line{}, io.EOF
}

func (h *hasty) leave()                             { h.end.Do(func() { close(h.gone) }) }
func (h *hasty) Interrupt()                         {}
func (h *hasty) Resume()                            {}
func (h *hasty) Ready() bool                        { return false }
func (h *hasty) Said() int64                        { return 0 }
func (h *hasty) Write(lines []byte) (int, error)    { return len(lines), nil }
func (h *hasty) TryWrite([]byte) int                { return 0 }
func (h *hasty) CloseWrite()                        {}
func (h *hasty) Unread() int                        { return -1 }
func (h *hasty) Done() <-chan struct{}              { return h.gone }
func (h *hasty) Exit() host.Exit                    { return h.exit }
func (h *hasty) Stderr() string                     { return h.exit.Stderr }
func (h *hasty) End(time.Duration, <-chan struct{}) { h.leave() }

// TestStart: what a host does before anything is said to it fails the check of the
// start, when it does so soon. A host that is slower is found out by the checks that
// follow; how soon is soon only a clock of the test's own can tell on any machine.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		name string
		host *hasty
		want Verdict
	}{
		{"waits", &hasty{after: time.Hour}, Verdict{Outcome: OK}},
		{"speaks later", &hasty{after: early + 1, says: "Welcome"}, Verdict{Outcome: OK}},
		{"speaks", &hasty{after: early - 1, says: "Welcome"},
			Verdict{Outcome: Fail, Expected: "nothing before the first message", Got: "the line Welcome"}},
		{"leaves", &hasty{after: early - 1, exit: host.Exit{Code: 3, Stderr: "looking\nno licence\n"}},
			Verdict{Outcome: Fail, Expected: "a process that waits for its input", Got: "its end with exit code 3: no licence"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			config := host.Config{Name: "Worker", Transport: "memory", OutputFormat: "json"}
			dialer := host.NewDialer(config, host.Options{Transports: map[string]host.Transport{"memory": c.host}})
			s := &session{ctx: context.Background(), o: Options{Config: config}, dialer: dialer, told: map[string]bool{}, wrong: map[string]bool{}}
			defer s.drop()
			got := s.start()
			if got.Outcome != c.want.Outcome || got.Expected != c.want.Expected || got.Got != c.want.Got {
				t.Errorf("%s: %+v, and should be %+v", c.name, got, c.want)
			}
		})
	}
}
