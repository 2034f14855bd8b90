package host

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

func TestHeartbeat(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(h *memHost)
		want string // text of the failure, or of the message that arrives instead of a failure
		at   string // seconds between the prompt and the outcome
		ends string
	}{
		{"silent from the start", (*memHost).hang, "HostError: host 'w' sent nothing for 3 seconds", "3", "term@3 kill@8 exit@8"},
		{"silent after a message", func(h *memHost) {
			time.Sleep(2 * time.Second)
			h.writeLine(`{"type":"progress"}`)
			h.hang()
		}, "HostError: host 'w' sent nothing for 3 seconds", "5", "term@5 kill@10 exit@10"},
		{"a line that is no message is a sign of life", func(h *memHost) {
			h.writeLine(`{"type":"progress"}`)
			time.Sleep(2 * time.Second)
			h.writeLine(`hm`)
			h.hang()
		}, "HostError: host 'w' sent nothing for 3 seconds", "5", "term@5 kill@10 exit@10"},
		{"half a line is none", func(h *memHost) {
			for !h.exitedWithin(time.Second) {
				h.out.write("x")
			}
		}, "HostError: host 'w' sent nothing for 3 seconds", "3", "term@3 kill@8 exit@8"},
		{"often enough", func(h *memHost) {
			for range 4 {
				time.Sleep(2900 * time.Millisecond)
				h.writeLine(`{"type":"progress"}`)
			}
			h.writeLine(`{"type":"result"}`)
			h.readLine()
		}, "result {}", "11.6", "eof@11.6 exit@11.6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Upkeep: Upkeep{Heartbeat: 3}}, func(h *memHost) { h.readLine(); c.play(h) })
				id, start := b.openExchange(), time.Now()
				got := b.nextOutcome(id)
				for got == "progress {}" {
					got = b.nextOutcome(id)
				}
				if strings.TrimPrefix(got, "progress {}; ") != c.want || since(start) != c.at {
					t.Errorf("got %s after %s seconds, want %s after %s", got, since(start), c.want, c.at)
				}
				b.closeExchange(id, "")
				b.Close(context.Background())
				b.expectEvents(0, c.ends)
			})
		})
	}
}

// exitedWithin waits at most d for the host to be ended, and reports whether it was.
func (h *memHost) exitedWithin(d time.Duration) bool { return waitFor(d, h.dead) }

// TestHeartbeatCode checks the code of the error. A host that supports cancellation must receive a
// cancel message.
func TestHeartbeatCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams, Upkeep: Upkeep{Heartbeat: 0.5}}, func(h *memHost) {
			withCancel(h)
			h.note(h.readLine())
			h.hang()
		})
		id := b.openExchange()
		_, err := b.Perform(t.Context(), &effect.ExchangeNext{ID: id})
		if e, ok := err.(*effect.Error); !ok || e.Fields["code"] != "heartbeat" || e.Fields["host"] != "w" || e.Status != effect.Unknown {
			t.Errorf("error = %#v, want a HostError of host w with code heartbeat and unknown status", err)
		}
		b.closeExchange(id, "")
		b.Close(context.Background())
		b.expectEvents(0, `{"type":"cancel","reason":"heartbeat"}@0.5 eof@0.5 term@1.5 kill@6.5 exit@6.5`)
	})
}

// TestHeartbeatWaits checks that a host that waits for an answer may be silent until the answer
// arrives.
func TestHeartbeatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Upkeep: Upkeep{Heartbeat: 3}}, func(h *memHost) {
			h.readLine()
			h.writeLine(`{"type":"question","id":1}`)
			h.writeLine(`{"type":"approval","id":1}`)
			h.writeLine(`{"type":"tool_call","id":2}`)
			h.writeLine(`{"type":"withdraw","id":2}`)
			h.readLine()
			h.readLine()
			h.hang()
		})
		id, start := b.openExchange(), time.Now()
		b.nextOutcome(id)
		for _, typ := range []string{"question", "approval"} {
			time.Sleep(10 * time.Second)
			r := &effect.ExchangeReply{ID: id, InReplyTo: typ, AnswerTo: "1"}
			for range 2 { // the second answer has no effect
				if _, err := b.Perform(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.expectMessage(id, "HostError: host 'w' sent nothing for 3 seconds")
		if got := since(start); got != "23" {
			t.Errorf("the exchange failed after %s seconds, want 23", got)
		}
		b.closeExchange(id, "")
	})
}

// TestHeartbeatOfSlowProgram checks that a host is not silent as long as its lines wait for the
// program.
func TestHeartbeatOfSlowProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Upkeep: Upkeep{Heartbeat: 1}}, func(h *memHost) {
			h.readLine()
			for range 4 * batchMessages {
				h.writeLine(`{"type":"progress"}`)
			}
			h.writeLine(`{"type":"result"}`)
			h.readLine()
		})
		id := b.openExchange()
		for range 3 {
			time.Sleep(20 * time.Second)
			b.nextOutcome(id)
		}
		for n := 0; n < 20; n++ {
			r, err := b.Perform(t.Context(), &effect.ExchangeNext{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			all := r.(*effect.ExchangeMessages).Messages
			if all[len(all)-1].Type == "result" {
				b.closeExchange(id, "")
				return
			}
		}
		t.Error("no result after 20 requests")
	})
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Upkeep: Upkeep{IdleSeconds: 60}}, echoes)
		ask := func() {
			t.Helper()
			id := b.openExchange()
			b.expectMessage(id, `result {"text":"fine"}`)
			b.closeExchange(id, "")
		}
		ask()
		time.Sleep(59 * time.Second)
		ask() // an exchange restarts the idle time
		time.Sleep(59 * time.Second)
		ask()
		if n := len(b.mem.all); n != 1 {
			t.Errorf("%d processes were started, want 1", n)
		}
		time.Sleep(time.Hour)
		ask()
		if n := len(b.mem.all); n != 2 {
			t.Errorf("%d processes were started, want 2", n)
		}
		b.expectEvents(0, "eof@178 exit@178")
		b.Close(context.Background())
		b.expectEvents(1, "eof@0 exit@0")
	})
}

// TestIdleIsNotBusy checks that an exchange may take longer than idle_seconds.
func TestIdleIsNotBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Upkeep: Upkeep{IdleSeconds: 1}}, func(h *memHost) {
			for h.readLine() != "" {
				time.Sleep(10 * time.Second)
				h.writeLine(`{"type":"result"}`)
			}
		})
		for range 2 {
			id := b.openExchange()
			b.expectMessage(id, `result {}`)
			b.closeExchange(id, "")
			time.Sleep(900 * time.Millisecond)
		}
		if n := len(b.mem.all); n != 1 {
			t.Errorf("%d processes were started, want 1", n)
		}
	})
}

func TestCancelGrace(t *testing.T) {
	for _, c := range []struct {
		grace float64
		ends  string
	}{
		{0, `{"type":"cancel","reason":"enough"}@0 term@5 kill@10 exit@10`},
		{0.5, `{"type":"cancel","reason":"enough"}@0 term@0.5 kill@5.5 exit@5.5`},
		{20, `{"type":"cancel","reason":"enough"}@0 term@20 kill@25 exit@25`},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t, Config{Params: someParams, Upkeep: Upkeep{CancelGrace: c.grace}}, func(h *memHost) {
				withCancel(h)
				h.note(h.readLine())
				h.hang()
			})
			b.closeExchange(b.openExchange(), "enough")
			time.Sleep(time.Minute)
			b.expectEvents(0, c.ends)
		})
	}
}

// TestSilenceIsNotReset checks that a change of the reading goroutine does not restart the measured
// silence.
func TestSilenceIsNotReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSilenceTimer(&Config{Upkeep: Upkeep{Heartbeat: 3}}, nil)
		p.resetForExchange()
		for range 2 {
			p.beginWait()
			time.Sleep(time.Second)
			p.endWait(false)
			time.Sleep(time.Hour) // no goroutine waits for messages
		}
		if left := p.remaining(3 * time.Second); left != time.Second {
			t.Errorf("remaining time without a wait = %v, want 1s", left)
		}
		p.beginWait()
		time.Sleep(time.Second)
		if left := p.remaining(3 * time.Second); left != 0 {
			t.Errorf("remaining time after 3 seconds of waiting = %v, want 0", left)
		}
		p.endWait(true)
		if left := p.remaining(3 * time.Second); left != 3*time.Second {
			t.Errorf("remaining time after a line = %v, want 3s", left)
		}
	})
}
