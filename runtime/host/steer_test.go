package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// steer sends a message of the program and compares the outcome, or the text of the failure, with
// want.
func (b *bubble) steer(r effect.ExchangeSteer, want string) {
	b.Helper()
	got, err := b.Perform(context.Background(), &r)
	if err != nil {
		got = &effect.ExchangeSteered{Outcome: err.Error()}
	}
	if got := got.(*effect.ExchangeSteered).Outcome; got != want {
		b.Errorf("steer %q: %s, want %s", r.Text, got, want)
	}
}

// steerFrom sends a message from outside the program.
func (b *bubble) steerFrom(m Message, want string) {
	b.Helper()
	_, got, err := b.Steer(context.Background(), m)
	if err != nil {
		got = err.Error()
	}
	if got != want {
		b.Errorf("steer %q from outside: %s, want %s", m.Text, got, want)
	}
}

// withSteer is a host that acknowledges with the capabilities cancel and steer and then reads the
// prompt.
func withSteer(h *memHost) {
	h.readLine()
	h.writeLine(`{"type":"init_ack","capabilities":["cancel","steer"]}`)
	h.readLine()
}

// readAll returns the messages of the exchange until it ends.
func (b *bubble) readAll(id int64) (all []string) {
	for {
		got := b.nextOutcome(id)
		all = append(all, strings.Split(got, "; ")...)
		if last := all[len(all)-1]; !strings.HasPrefix(last, "progress ") && !strings.HasPrefix(last, effect.Steered) {
			return all
		}
	}
}

// TestInterruptReadsFlood checks that the end of an interrupted turn is read although the program
// does not read the many messages before it.
func TestInterruptReadsFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
			withSteer(h)
			h.note(h.readLine())
			for i := range 3 * batchMessages {
				h.writeLine(fmt.Sprintf(`{"type":"progress","n":%d}`, i))
			}
			h.writeLine(`{"type":"error","message":"stopped"}`)
			h.note(h.readLine())
			h.writeLine(`{"type":"result","text":"done"}`)
			h.readLine()
		})
		id := b.openExchange()
		b.steer(effect.ExchangeSteer{ID: id, Text: "instead", Interrupt: true}, effect.SteerInterrupted)
		time.Sleep(time.Minute)
		b.expectEvents(0, `{"type":"cancel","reason":"interrupted"}@0 {"type":"prompt","text":"instead","queued":true}@0`)
		if all := b.readAll(id); len(all) != 3*batchMessages+2 || all[len(all)-1] != `result {"text":"done"}` {
			t.Errorf("got %d messages, the last one %s, want %d", len(all), all[len(all)-1], 3*batchMessages+2)
		}
		b.closeExchange(id, "")
	})
}

// TestInterruptedAfterPlanLimit checks that an exchange that the program has interrupted has the
// code of that, also if a limit of the host's plan was reached before. A second message that
// interrupts the same turn is queued.
func TestInterruptedAfterPlanLimit(t *testing.T) {
	for _, text := range []string{"", "instead"} {
		synctest.Test(t, func(t *testing.T) {
			steered := make(chan struct{})
			b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
				withSteer(h)
				h.writeLine(`{"type":"plan_limit","window":"5h","status":"reached"}`)
				h.readLine()
				<-steered
				h.writeLine(`{"type":"error","message":"stopped"}`)
				for range 2 { // the prompts of later turns, or the end of the input
					h.readLine()
					h.writeLine(`{"type":"result","text":"done"}`)
				}
			})
			b.opts.Budget = &tokenBudget{limit: 1 << 40}
			id := b.openExchange()
			if got := b.nextOutcome(id); !strings.HasPrefix(got, "plan_limit ") {
				t.Fatalf("message = %s, want the limit of the plan", got)
			}
			b.steer(effect.ExchangeSteer{ID: id, Text: text, Interrupt: true}, effect.SteerInterrupted)
			want := `error {"message":"host 'w' was interrupted","code":"interrupted"}`
			if text != "" {
				b.steer(effect.ExchangeSteer{ID: id, Text: "and this", Interrupt: true}, effect.SteerQueued)
				want = `result {"text":"done"}`
			}
			close(steered)
			all := b.readAll(id)
			if last := all[len(all)-1]; last != want {
				t.Errorf("last message = %s, want %s", last, want)
			}
			b.closeExchange(id, "")
		})
	}
}

// TestQueuedForNewProcess checks that a new process receives the queued prompt of a host that has
// exited after the result of its turn.
func TestQueuedForNewProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		b := newBubble(t, Config{}, func(h *memHost) {
			h.readLine()
			<-end
			h.writeLine(`{"type":"result","text":"one","turns":1}`)
		}, func(h *memHost) {
			h.note(h.readLine())
			h.writeLine(`{"type":"result","text":"two","turns":1}`)
		})
		id := b.openExchange()
		b.steer(effect.ExchangeSteer{ID: id, Text: "next"}, effect.SteerQueued)
		close(end)
		all := b.readAll(id)
		if last := all[len(all)-1]; len(all) != 2 || last != `result {"text":"two","turns":2}` {
			t.Errorf("messages = %q, want the end of a turn and the result of the next one", all)
		}
		b.expectEvents(1, `{"type":"prompt","text":"next","queued":true}@0 exit@0`)
		b.closeExchange(id, "")
	})
}

// TestSteeredBeforeRead checks that messages to a process that exits before it reads its prompt
// reach the next process.
func TestSteeredBeforeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
			withSteer(h)
			h.writeLine(`{"type":"result","text":"first"}`)
			<-leave
		}, func(h *memHost) {
			withSteer(h)
			h.writeLine(`{"type":"result","text":"second"}`)
			h.note(h.readLine())
			h.writeLine(`{"type":"result","text":"third"}`)
			h.readLine()
		})
		b.expectMessage(b.openExchange(), `result {"text":"first"}`)
		b.closeExchange(1, "")
		id := b.openExchange()
		b.steer(effect.ExchangeSteer{ID: id, Text: "more"}, effect.SteerReceived)
		close(leave)
		if all := b.readAll(id); all[len(all)-1] != `result {"text":"third"}` {
			t.Errorf("messages = %q, want the result of the turn that the message began", all)
		}
		b.expectEvents(1, `{"type":"prompt","text":"more","queued":true}@0`)
		b.closeExchange(id, "")
	})
}

// TestQueuedAndFailed checks that a queued message that no turn receives is reported, however the
// exchange ends.
func TestQueuedAndFailed(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(*memHost)
		want string
	}{
		{"exits", func(h *memHost) { h.readLine(); h.writeLine(`{"type":"progress"}`); time.Sleep(time.Second) }, "HostError: host exited without result: 'w' exited with status 0"},
		{"timed out", func(h *memHost) { h.readLine(); h.untilTerm() }, "HostError: host 'w' timed out after 5 seconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Timeout: 5}, c.play)
				var log []string
				b.opts.Log = func(level, line string) { log = append(log, level+": "+line) }
				id := b.openExchange()
				b.steer(effect.ExchangeSteer{ID: id, Text: "more"}, effect.SteerQueued)
				if all := b.readAll(id); all[len(all)-1] != c.want {
					t.Errorf("messages = %q, want the failure %q", all, c.want)
				}
				b.closeExchange(id, "")
				want := `warn: host 'w' ended its exchange: a queued message was not sent: "more"`
				if len(log) != 1 || log[0] != want {
					t.Errorf("log = %q, want %q", log, want)
				}
			})
		})
	}
}

// TestSteerIsDeliveredOnce checks that a message from outside the program that a host has received
// is not sent to a later exchange.
func TestSteerIsDeliveredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
			withSteer(h)
			for range 2 {
				h.note(h.readLine())
				h.writeLine(`{"type":"result"}`)
			}
		})
		id := b.openExchange()
		b.steerFrom(Message{Key: "k", Text: "once"}, effect.SteerReceived)
		b.readAll(id)
		b.closeExchange(id, "")
		b.steerFrom(Message{Key: "l", Text: "late"}, "no host is running")
		id = b.openExchange()
		b.steerFrom(Message{Key: "k", Text: "once"}, effect.SteerReceived)
		b.readAll(id)
		b.closeExchange(id, "")
		b.SetDelivered(&effect.SteeredNote{Key: "m", Host: "w", Outcome: effect.SteerQueued})
		b.steerFrom(Message{Key: "m", Text: "of an earlier process"}, effect.SteerQueued)
		synctest.Wait()
		b.expectEvents(0, `{"type":"steer","id":"t1","text":"once"}@0 {"type":"prompt","text":"go"}@0 exit@0`)
	})
}

// TestSteerIsRecorded checks that the program's records contain a message from outside the program
// although the exchange times out before the program reads its messages, and that the sender is
// notified if the program closes the exchange first.
func TestSteerIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 5}, func(h *memHost) {
			h.readLine()
			h.writeLine(`{"type":"progress"}`)
			h.untilTerm()
		})
		id := b.openExchange()
		b.steerFrom(Message{Key: "k", Text: "a"}, effect.SteerQueued)
		time.Sleep(time.Minute)
		all := b.readAll(id)
		if want := effect.Steered + ` {"key":"k","id":"t1","host":"w","text":"a","outcome":"queued","by":"answer"}`; all[0] != want || len(all) != 2 {
			t.Errorf("messages = %q, want %s and the failure", all, want)
		}
		b.closeExchange(id, "")
		id = b.openExchange()
		unrecorded := 0
		b.steerFrom(Message{Key: "l", Text: "b", Unrecorded: func() { unrecorded++ }}, effect.SteerQueued)
		b.closeExchange(id, "")
		if unrecorded != 1 {
			t.Errorf("the sender was notified %d times that its message is not recorded, want once", unrecorded)
		}
	})
}

// TestSteerWhileLost checks that a message for an exchange whose process is lost waits for the
// process that continues the exchange, that the program's records contain it, and that such an
// exchange cannot be interrupted.
func TestSteerWhileLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) { withSteer(h); h.untilTerm() })
		id := b.openExchange()
		ex, err := b.lookupExchange(id)
		if err != nil {
			t.Fatal(err)
		}
		ex.inbox.canContinue = true
		if !ex.inbox.markLost(ex.pool.cfg.lostError()) {
			t.Fatal("the exchange is not lost")
		}
		b.steerFrom(Message{Key: "k", Text: "a"}, effect.SteerQueued)
		if all := ex.inbox.unreadSteers(); len(all) != 1 || all[0].Key != "k" {
			t.Errorf("records = %v, want one of the message k", all)
		}
		b.steer(effect.ExchangeSteer{ID: id, Interrupt: true}, "host 'w' cannot be interrupted: it is lost, and another process will continue the exchange")
		ex.currentProcess().retire(0)
		b.closeExchange(id, "")
	})
}

// TestLostTurn checks what remains of the messages to a lost process: those that it has not
// confirmed, the prompt that follows an interrupted turn, and with a prompt that it has not read,
// all messages of the turn.
func TestLostTurn(t *testing.T) {
	message := func(id, outcome string) *steerMessage {
		return newSteerMessage(steerNote{ID: id, Text: id, Outcome: outcome})
	}
	for _, c := range []struct {
		name                string
		unread, interrupted bool
		interrupt           *steerMessage
		want                string
	}{
		{"read", false, false, nil, "t2 t4"},
		{"not read", true, false, nil, "t1 t2 t4"},
		{"interrupted with a text", false, false, message("t5", effect.SteerInterrupted), "t5 t2 t4"},
		{"interrupted without a text", false, true, newSteerMessage(steerNote{ID: "t5", Outcome: effect.SteerInterrupted}), "t2 t4"},
	} {
		ex := &exchange{inbox: newInbox()}
		s := ex.inbox.turns.steeringState()
		received, open := message("t1", effect.SteerReceived), message("t2", "")
		s.direct, s.sent = []*steerMessage{received, open}, map[string]*steerMessage{"t2": open}
		s.queue = []*steerMessage{message("t4", effect.SteerQueued)}
		if s.interrupt = c.interrupt; s.interrupt != nil {
			s.timer = time.NewTimer(time.Hour)
		}
		interrupted := ex.endLostTurn(c.unread)
		var ids []string
		for _, m := range s.queue {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || interrupted != c.interrupted || open.Outcome != effect.SteerQueued {
			t.Errorf("%s: the queue is %q, interrupted = %v, outcome of t2 %q, want %q, %v and queued", c.name, got, interrupted, open.Outcome, c.want, c.interrupted)
		}
	}
}

// TestContinued checks when an exchange whose turn has ended can be continued.
func TestContinued(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit int64 // of the tokens; 0 for none
		wait  time.Duration
		want  string
	}{
		{"in time", 1000, 30 * time.Second, `result {"usage":{"tokens_in":100}}; result {"usage":{"tokens_in":200}}`},
		{"after a limit", 90, 0, `result {"usage":{"tokens_in":100}}; HostError: stopped host 'w': it used 100 tokens`},
		{"after a long gate", 1000, 61 * time.Second, `result {"usage":{"tokens_in":100}}; result {"usage":{"tokens_in":200}}`},
		{"until the timeout", 1000, time.Hour, `result {"usage":{"tokens_in":100}}; HostError: host 'w' timed out after 60 seconds`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Params: someParams, Timeout: 60, Upkeep: Upkeep{Heartbeat: 20}}, func(h *memHost) {
					withSteer(h)
					if c.name == "until the timeout" {
						for range 2 {
							time.Sleep(15 * time.Second)
							h.writeLine(`{"type":"progress"}`)
						}
						time.Sleep(15 * time.Second)
					}
					h.writeLine(report("result", 100))
					time.Sleep(time.Second)
					h.writeLine(`{"type":"progress","note":"between the turns"}`)
					if h.readLine(); c.name == "until the timeout" {
						for range 10 {
							time.Sleep(10 * time.Second)
							h.writeLine(`{"type":"progress"}`)
						}
					}
					h.writeLine(report("result", 100))
					h.readLine()
				})
				b.opts.Budget = &tokenBudget{limit: c.limit}
				id := b.openExchange()
				got := []string{b.nextResult(id)}
				time.Sleep(c.wait)
				continued := time.Now()
				_, err := b.Perform(context.Background(), &effect.ExchangeContinue{ID: id, Prompt: "more", Reason: effect.ContinueSchema})
				if err != nil {
					got = append(got, "HostError: "+err.Error())
				} else {
					got = append(got, b.nextResult(id))
				}
				if took := time.Since(continued); c.name == "until the timeout" && took != 15*time.Second {
					t.Errorf("the continued turn took %v, want the remaining 15s of the timeout", took)
				}
				if text := strings.Join(got, "; "); text != c.want {
					t.Errorf("got  %s\nwant %s", text, c.want)
				}
				b.closeExchange(id, "")
				time.Sleep(time.Hour)
			})
		})
	}
}

// nextResult returns the next outcome that is no progress.
func (b *bubble) nextResult(id int64) string {
	for {
		if next := b.nextOutcome(id); !strings.HasPrefix(next, "progress") {
			return next
		}
	}
}

// TestSteerContinued checks that a continued exchange can be steered, and that a turn that is in
// progress cannot be continued.
func TestSteerContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
			withSteer(h)
			h.writeLine(`{"type":"result","text":"one"}`)
			h.note(h.readLine())
			h.note(h.readLine())
			h.writeLine(`{"type":"result","text":"two"}`)
			h.readLine()
		})
		id := b.openExchange()
		b.expectMessage(id, `result {"text":"one"}`)
		again := &effect.ExchangeContinue{ID: id, Prompt: "more", Reason: effect.ContinueSchema}
		ctx := effect.WithKey(context.Background(), "k")
		for range 2 { // the second one has the same key
			if _, err := b.Perform(ctx, again); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Perform(context.Background(), again); err == nil || !strings.Contains(err.Error(), "works on a turn") {
			t.Errorf("continuing a turn in progress: %v", err)
		}
		b.steer(effect.ExchangeSteer{ID: id, Text: "and this"}, effect.SteerReceived)
		b.expectMessage(id, `result {"text":"two"}`)
		b.closeExchange(id, "")
		b.expectEvents(0, `{"type":"prompt","text":"more","queued":true}@0 {"type":"steer","id":"t2","text":"and this"}@0`)
	})
}

// TestContinuedByNewProcess checks that a new process receives the further prompt of a host that
// has exited after its result, or that exits before it reads the prompt.
func TestContinuedByNewProcess(t *testing.T) {
	for _, early := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t, Config{}, func(h *memHost) {
				h.readLine()
				h.writeLine(`{"type":"result","text":"one","turns":1}`)
				if !early {
					time.Sleep(time.Second)
				}
			}, func(h *memHost) {
				h.note(h.readLine())
				h.writeLine(`{"type":"result","text":"two","turns":1}`)
			})
			id := b.openExchange()
			b.expectMessage(id, `result {"text":"one","turns":1}`)
			if early {
				time.Sleep(time.Second)
			}
			if _, err := b.Perform(context.Background(), &effect.ExchangeContinue{ID: id, Prompt: "next", Reason: effect.ContinueSchema}); err != nil {
				t.Fatal(err)
			}
			b.expectMessage(id, `result {"text":"two","turns":2}`)
			b.closeExchange(id, "")
			b.expectEvents(1, `{"type":"prompt","text":"next","queued":true}@0 exit@0`)
		})
	}
}
