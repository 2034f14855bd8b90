package hostcheck

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host"
)

// hasty is a fake host that does not read its input. After a delay it writes a line, if output is
// set, and exits.
type hasty struct {
	after  time.Duration
	output string
	exit   host.Exit
	seen   bool          // the system reports whether the process waits for input
	waits  time.Duration // delay until the process waits for input; 0 means never
	began  time.Time

	spoke  bool
	exited chan struct{}
	end    sync.Once
}

func (h *hasty) Connect(*host.Config, host.Surroundings) (host.Conn, error) {
	h.exited, h.began = make(chan struct{}), time.Now()
	return h, nil
}

func (h *hasty) ReadLine() (ndjson.Line, error) {
	t := time.NewTimer(h.after)
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.exited:
		return ndjson.Line{}, io.EOF
	}
	if h.output != "" && !h.spoke {
		h.spoke = true
		return ndjson.Line{Text: []byte(h.output)}, nil
	}
	h.leave()
	return ndjson.Line{}, io.EOF
}

func (h *hasty) leave()      { h.end.Do(func() { close(h.exited) }) }
func (h *hasty) Interrupt()  {}
func (h *hasty) Resume()     {}
func (h *hasty) Ready() bool { return false }
func (h *hasty) BytesSent() int64 {
	if h.output != "" && time.Since(h.began) >= h.after {
		return int64(len(h.output)) + 1
	}
	return 0
}
func (h *hasty) AwaitsInput() (waits, known bool) {
	return h.seen && h.waits > 0 && time.Since(h.began) >= h.waits, h.seen
}
func (h *hasty) Write(lines []byte) (int, error)    { return len(lines), nil }
func (h *hasty) TryWrite([]byte) int                { return 0 }
func (h *hasty) CloseWrite()                        {}
func (h *hasty) Unread() int                        { return -1 }
func (h *hasty) Done() <-chan struct{}              { return h.exited }
func (h *hasty) Exit() host.Exit                    { return h.exit }
func (h *hasty) Stderr() string                     { return h.exit.Stderr }
func (h *hasty) End(time.Duration, <-chan struct{}) { h.leave() }

// TestStart checks that the start check fails if a host writes output or exits before it has
// received anything. Slower hosts are detected by later checks. The test uses a fake clock, so it
// does not depend on the speed of the machine.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		name string
		host *hasty
		want Verdict
		most time.Duration // maximum duration of the check
	}{
		{"waits", &hasty{after: time.Hour}, Verdict{Outcome: OK}, early},
		{"speaks later", &hasty{after: early + 1, output: "Welcome"}, Verdict{Outcome: OK}, early},
		{"is seen to wait", &hasty{after: time.Hour, seen: true, waits: 2 * glance}, Verdict{Outcome: OK}, 3 * glance},
		{"is seen to wait late", &hasty{after: time.Hour, seen: true, waits: 3 * time.Second}, Verdict{Outcome: OK}, 3*time.Second + glance},
		{"never waits", &hasty{after: time.Hour, seen: true}, Verdict{Outcome: OK}, starting},
		{"speaks, then waits", &hasty{after: time.Second, output: "Welcome", seen: true, waits: time.Second},
			Verdict{Outcome: Fail, Expected: "no output before the first message", Got: "the line Welcome"}, time.Second + glance},
		{"waits, then speaks", &hasty{after: time.Second, output: "Welcome", seen: true, waits: time.Second - 2*glance}, Verdict{Outcome: OK}, time.Second},
		{"starts for long and speaks", &hasty{after: starting - 1, output: "Welcome", seen: true},
			Verdict{Outcome: Fail, Expected: "no output before the first message", Got: "the line Welcome"}, starting},
		{"speaks", &hasty{after: early - 1, output: "Welcome"},
			Verdict{Outcome: Fail, Expected: "no output before the first message", Got: "the line Welcome"}, early},
		{"leaves", &hasty{after: early - 1, exit: host.Exit{Code: 3, Stderr: "looking\nno licence\n"}},
			Verdict{Outcome: Fail, Expected: "a process that waits for its input", Got: "exit code 3: no licence"}, early},
	} {
		synctest.Test(t, func(t *testing.T) {
			config := host.Config{Name: "Worker", Transport: "memory", OutputFormat: "json"}
			dialer := host.NewDialer(config, host.Options{Transports: map[string]host.Transport{"memory": c.host}})
			s := &session{ctx: context.Background(), o: Options{Config: config}, dialer: dialer, remarked: map[string]bool{}, wrong: map[string]bool{}}
			defer s.endProcess()
			began := time.Now()
			got := s.checkStart()
			if took := time.Since(began); took > c.most {
				t.Errorf("%s: the check took %v, want at most %v", c.name, took, c.most)
			}
			if got.Outcome != c.want.Outcome || got.Expected != c.want.Expected || got.Got != c.want.Got {
				t.Errorf("%s: verdict = %+v, want %+v", c.name, got, c.want)
			}
		})
	}
}

// readDuringProbe is a fake host that waits for input. Its output line is read while the check
// reads the number of sent bytes.
type readDuringProbe struct {
	hasty
	p *peer
}

func (h *readDuringProbe) BytesSent() int64 {
	if !h.spoke {
		h.spoke = true
		h.p.events <- event{}
		h.p.bytesRead.Store(1)
	}
	return 1
}

// TestLineReadDuringProbe checks that a host does not count as waiting while one of its lines is
// unprocessed, even if the line is read during the call of waits.
func TestLineReadDuringProbe(t *testing.T) {
	h := &readDuringProbe{hasty: hasty{seen: true, waits: 1, began: time.Now().Add(-time.Hour)}}
	h.p = &peer{conn: h, events: make(chan event, 1)}
	if waits, ok := h.p.waits(); waits || !ok {
		t.Errorf("waits() before the line is handled = %t, known %t, want false, true", waits, ok)
	}
	<-h.p.events
	if waits, _ := h.p.waits(); !waits {
		t.Error("waits() after the line was handled = false, want true")
	}
}
