package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

var someParams = json.RawMessage(`{"a":1}`)

// withCancel is a host that acknowledges with the capability cancel and then reads the prompt.
func withCancel(h *memHost) {
	h.readLine()
	h.writeLine(`{"type":"init_ack","capabilities":["cancel"]}`)
	h.readLine()
}

func echoes(h *memHost) {
	for h.readLine() != "" {
		h.writeLine(`{"type":"result","text":"fine"}`)
	}
}

func TestTimeoutDefaults(t *testing.T) {
	for _, c := range []struct {
		timeout        float64
		message, ended string
	}{
		{0, "timed out after 120 seconds", "term@120 kill@125 exit@125"},
		{2.5, "timed out after 2.5 seconds", "term@2.5 kill@7.5 exit@7.5"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t, Config{Timeout: c.timeout}, func(h *memHost) { h.readLine(); h.hang() }, echoes)
			id, start := b.openExchange(), time.Now()
			b.expectMessage(id, "HostError: host 'w' "+c.message)
			if got := since(start); !strings.Contains(c.message, "after "+got+" ") {
				t.Errorf("the exchange failed after %s seconds, want the time in %q", got, c.message)
			}
			b.closeExchange(id, "")
			id = b.openExchange() // the opening waits until the old process has exited
			b.expectMessage(id, `result {"text":"fine"}`)
			b.expectEvents(0, c.ended)
		})
	}
}

func TestTimeoutSendsCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 10, Params: someParams}, func(h *memHost) {
			withCancel(h)
			h.note(h.readLine())
			h.hang()
		})
		id := b.openExchange()
		b.expectMessage(id, "HostError: host 'w' timed out after 10 seconds")
		b.closeExchange(id, "")
		time.Sleep(time.Minute)
		b.expectEvents(0, `{"type":"cancel","reason":"timeout"}@10 eof@10 term@11 kill@16 exit@16`)
	})
}

// TestTimeoutBeginsWithPrompt checks that the timeout includes neither the wait in the queue nor
// the initialisation.
func TestTimeoutBeginsWithPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 10, Params: someParams}, func(h *memHost) {
			h.readLine()
			time.Sleep(9 * time.Second)
			h.writeLine(`{"type":"init_ack"}`)
			for range 2 {
				h.readLine()
				time.Sleep(9 * time.Second)
				h.writeLine(`{"type":"result"}`)
			}
		})
		start := time.Now()
		first := b.openExchange()
		done := make(chan struct{})
		go func() {
			defer close(done)
			second := b.openExchange()
			b.expectMessage(second, `result {}`)
		}()
		b.expectMessage(first, `result {}`)
		b.closeExchange(first, "")
		<-done
		if got := since(start); got != "27" {
			t.Errorf("the exchanges took %s seconds, want 27", got)
		}
	})
}

func TestInitTimeout(t *testing.T) {
	for _, c := range []struct {
		timeout float64
		want    string
	}{{0, "10"}, {3, "3"}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t, Config{Timeout: c.timeout, Params: someParams}, (*memHost).hang)
			start := time.Now()
			_, err := b.tryOpen()
			if err == nil || err.Error() != "host 'w' did not acknowledge initialization: it sent nothing within "+c.want+" seconds" {
				t.Errorf("error = %v, want the error of a missing acknowledgement", err)
			}
			if since(start) != c.want {
				t.Errorf("the opening failed after %s seconds, want %s", since(start), c.want)
			}
		})
	}
}

// TestSlowProgramIsNotTimeout lets a host send its result before the timeout. The program may take
// any time to handle the messages.
func TestSlowProgramIsNotTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 10}, func(h *memHost) {
			h.readLine()
			h.writeLine(`{"type":"question","id":1}`)
			h.writeLine(`{"type":"result"}`)
			h.note(h.readLine())
			h.readLine()
		})
		id := b.openExchange()
		time.Sleep(11 * time.Second)
		b.expectMessage(id, `question {"id":1}; result {}`)
		b.Perform(context.Background(), &effect.ExchangeReply{ID: id, InReplyTo: "question", AnswerTo: "1"})
		b.closeExchange(id, "")
		synctest.Wait()
		b.expectEvents(0, `{"type":"response","in_reply_to":"question","answer_to":1,"value":null}@11`)
	})
}

func TestOutputClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(h *memHost) {
			h.readLine()
			h.closeOutput()
			time.Sleep(900 * time.Millisecond)
			h.die(Exit{Code: 3})
		}, func(h *memHost) {
			h.readLine()
			h.closeOutput()
			h.untilTerm()
		})
		id := b.openExchange()
		b.expectMessage(id, "HostError: host exited without result: 'w' exited with status 3")
		b.closeExchange(id, "")
		id = b.openExchange()
		b.expectMessage(id, "HostError: host exited without result: 'w' closed its output but is still running")
		b.closeExchange(id, "")
		synctest.Wait()
		b.expectEvents(1, "term@1 exit@1")
	})
}

// TestOutputClosedAfterResult lets a host close its output after its result and continue to run.
// The exchange must not wait for the host's exit, and the next exchange must have a new process.
func TestOutputClosedAfterResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(h *memHost) {
			h.readLine()
			h.writeLine(`{"type":"result","text":"done"}`)
			h.closeOutput()
			h.untilTerm()
		}, echoes)
		id := b.openExchange()
		b.expectMessage(id, `result {"text":"done"}`)
		b.closeExchange(id, "")
		synctest.Wait()
		id = b.openExchange()
		b.expectMessage(id, `result {"text":"fine"}`)
		b.expectEvents(0, "eof@0 term@0.2 exit@0.2")
	})
}

// TestReplyWaitsForTimeoutAtMost replies to a host that does not read its input. The reply must
// fail when the exchange times out.
func TestReplyWaitsForTimeoutAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 7}, (*memHost).hang)
		id, start := b.openExchange(), time.Now()
		big := json.RawMessage(`"` + strings.Repeat("x", outboxLimit/2) + `"`)
		var err error
		n := 0
		for ; err == nil && n < 10; n++ {
			_, err = b.Perform(context.Background(), &effect.ExchangeReply{ID: id, InReplyTo: "question", Value: big})
		}
		if err == nil || err.Error() != "host 'w' timed out after 7 seconds" || since(start) != "7" {
			t.Errorf("reply %d: error %v after %s seconds, want the timeout after 7", n, err, since(start))
		}
		if n > 5 {
			t.Errorf("%d large replies were accepted, want at most 5", n)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		id = b.openExchange()
		time.AfterFunc(time.Second, func() { cancel(errors.New("stopped")) })
		for err = nil; err == nil; {
			_, err = b.Perform(ctx, &effect.ExchangeReply{ID: id, InReplyTo: "question", Value: big})
		}
		if err.Error() != "stopped" {
			t.Errorf("error = %v, want stopped", err)
		}
	})
}
