package link_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestLostFrames checks that the link sends unacknowledged events again on the same connection, and
// that it reconnects to a server that no longer sends a welcome.
func TestLostFrames(t *testing.T) {
	s := serve(t, byHeader)
	var stall, impatient atomic.Bool
	c := newClock(func(d time.Duration) bool {
		return d == 10*time.Second && stall.CompareAndSwap(true, false) || d == protocol.HelloTimeout && impatient.Load() || d == 500*time.Millisecond
	})
	h := connect(t, s.web.URL+"/base", c, func(sp *spool.Spool) { outputs(t, sp, "run_a", "1", "2") })
	p := s.accept()
	p.hello()
	p.welcome(2, `{}`)
	expect(t, p.readShort(2), "run_a 1 1", "run_a 2 2")
	p.send(protocol.RunSendInput, "run_a", `{"input_id":"i1","text":"x"}`)
	result := `run_a command.result 0 {"id":"i1","kind":"input","state":"applied"}`
	expect(t, p.readShort(1), result)
	stall.Store(true)
	h.output("run_a", "3", "4") // wakes the link, which cannot send the events because the window is full
	got := p.readShort(3)
	slices.Sort(got)
	expect(t, got, "run_a 1 1", "run_a 2 2", result)
	p.send(protocol.RunAck, "", `{"run_id":"run_a","last_seq":2}`)
	expect(t, p.readShort(2), "run_a 3 3", "run_a 4 4")
	impatient.Store(true)
	p.drop()
	p = s.accept()
	p.hello() // the server sends no welcome
	second := s.accept()
	p.drop()
	second.drop()
}
