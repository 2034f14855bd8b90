package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  time.Duration
		kept   bool
		events string
	}{
		{"in time", 4900 * time.Millisecond, true, ""},
		{"too late", 5100 * time.Millisecond, false, "term@5 exit@5.1"},
		{"never", 0, false, "term@5 kill@10 exit@10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
					withCancel(h)
					h.writeLine(`{"type":"progress","message":"dropped"}`)
					h.readLine() // cancel
					if c.after == 0 {
						h.hang()
					}
					time.Sleep(c.after)
					h.writeLine(`{"type":"result","text":"dropped too"}`)
					echoes(h)
				}, func(h *memHost) {
					h.readLine()
					h.writeLine(`{"type":"init_ack"}`)
					echoes(h)
				})
				id, start := b.openExchange(), time.Now()
				b.closeExchange(id, "enough")
				if since(start) != "0" {
					t.Errorf("closing the exchange took %s seconds, want 0", since(start))
				}
				id = b.openExchange()
				b.expectMessage(id, `result {"text":"fine"}`)
				if remains := len(b.mem.all) == 1; remains != c.kept {
					t.Errorf("process remained in the pool: %v, want %v", remains, c.kept)
				}
				b.expectEvents(0, c.events)
			})
		})
	}
}

func TestCancelWithoutCapability(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(h *memHost) { h.readLine(); h.untilTerm(); time.Sleep(time.Second) }, echoes)
		id, start := b.openExchange(), time.Now()
		b.closeExchange(id, "race lost")
		if since(start) != "0" {
			t.Errorf("closing the exchange took %s seconds, want 0", since(start))
		}
		id = b.openExchange()
		if since(start) != "1" {
			t.Errorf("the next exchange began after %s seconds, want 1", since(start))
		}
		b.expectMessage(id, `result {"text":"fine"}`)
		b.expectEvents(0, "term@0 exit@1")
	})
}

// TestCancelledNextLosesNothing lets a message arrive while no ExchangeNext call waits for it. The
// next call must return the message.
func TestCancelledNextLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(h *memHost) {
			h.readLine()
			time.Sleep(time.Second)
			h.writeLine(`{"type":"progress","i":1}`)
			h.writeLine(`{"type":"progress","i":2}`)
			time.Sleep(time.Second)
			h.writeLine(`{"type":"result"}`)
		})
		id := b.openExchange()
		gaveUp := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(500*time.Millisecond, func() { cancel(gaveUp) })
		if _, err := b.Perform(ctx, &effect.ExchangeNext{ID: id}); err != gaveUp {
			t.Errorf("ExchangeNext: error %v, want the context's cause", err)
		}
		time.Sleep(time.Second)
		b.expectMessage(id, `progress {"i":1}; progress {"i":2}`)
		if _, err := b.Perform(ctx, &effect.ExchangeNext{ID: id}); err != gaveUp {
			t.Errorf("ExchangeNext with an ended context: error %v, want the context's cause", err)
		}
		b.expectMessage(id, `result {}`)
	})
}

// TestCancelledOpen cancels the opening of an exchange, once in the queue and once during the
// initialisation. The host must remain usable.
func TestCancelledOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) { h.readLine(); h.untilTerm() }, func(h *memHost) {
			h.readLine()
			h.writeLine(`{"type":"init_ack"}`)
			echoes(h)
		})
		gaveUp := errors.New("gave up")
		open := func(after time.Duration) error {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(after, func() { cancel(gaveUp) })
			_, err := b.Perform(ctx, &effect.ExchangeOpen{Host: "w"})
			return err
		}
		if err := open(time.Second); err != gaveUp {
			t.Errorf("open during the initialisation: error %v, want %v", err, gaveUp)
		}
		id := b.openExchange()
		if err := open(time.Second); err != gaveUp {
			t.Errorf("open in the queue: error %v, want %v", err, gaveUp)
		}
		b.expectMessage(id, `result {"text":"fine"}`)
		b.closeExchange(id, "")
		b.closeExchange(b.openExchange(), "")
		b.expectEvents(0, "term@1 exit@1")
	})
}

func TestCloseIdle(t *testing.T) {
	for _, c := range []struct {
		name   string
		play   func(*memHost)
		events string
	}{
		{"polite", func(h *memHost) { echoes(h) }, "eof@0 exit@0"},
		{"busy", func(h *memHost) { echoes(h); h.untilTerm() }, "eof@0 term@0.2 exit@0.2"},
		{"stubborn", func(h *memHost) { echoes(h); h.hang() }, "eof@0 term@0.2 kill@5.2 exit@5.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{}, c.play)
				id := b.openExchange()
				b.expectMessage(id, `result {"text":"fine"}`)
				b.closeExchange(id, "")
				if err := b.Close(context.Background()); err != nil {
					t.Error(err)
				}
				b.expectEvents(0, c.events)
				if _, err := b.tryOpen(); !errors.Is(err, ErrClosed) {
					t.Errorf("open after Close: error %v, want ErrClosed", err)
				}
			})
		})
	}
}

// TestSecondCloseDoesNotWait checks that a second Close with a cancelled context shortens the wait
// of the first Close.
func TestSecondCloseDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, (*memHost).hang)
		b.openExchange()
		first := make(chan error)
		go func() { first <- b.Close(context.Background()) }()
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := b.Close(ctx); err != context.Canceled {
			t.Errorf("second Close: error %v, want context.Canceled", err)
		}
		if err := <-first; err != nil {
			t.Errorf("first Close: %v", err)
		}
		b.expectEvents(0, "term@0 kill@1 exit@1")
	})
}

func TestCloseDuringExchange(t *testing.T) {
	for _, c := range []struct {
		name   string
		params bool
		play   func(*memHost)
		events string
	}{
		{"told, leaves", true, func(h *memHost) { withCancel(h); h.readLine() }, "exit@0"},
		{"told, ends its exchange", true, func(h *memHost) {
			withCancel(h)
			h.readLine()
			h.writeLine(`{"type":"result"}`)
			h.readLine()
		}, "eof@0 exit@0"},
		{"told, does nothing", true, func(h *memHost) { withCancel(h); h.readLine(); h.untilTerm() }, "term@0.5 exit@0.5"},
		{"signalled", false, func(h *memHost) { h.readLine(); h.untilTerm() }, "term@0 exit@0"},
		{"stubborn", false, (*memHost).hang, "term@0 kill@2 exit@2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conf := Config{}
				if c.params {
					conf.Params = someParams
				}
				b := newBubble(t, conf, c.play)
				id := b.openExchange()
				next := make(chan string)
				go func() { next <- b.nextOutcome(id) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				err := b.Close(ctx)
				if stubborn := c.name == "stubborn"; stubborn != errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Close: error %v, want a deadline error: %v", err, stubborn)
				}
				if got := <-next; got != "exchange 1 has ended" {
					t.Errorf("the waiting request returned %q, want \"exchange 1 has ended\"", got)
				}
				synctest.Wait()
				b.expectEvents(0, c.events)
			})
		})
	}
}

// TestCloseDuringInit checks that Close ends a host that is being initialised.
func TestCloseDuringInit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) { h.readLine(); h.untilTerm() })
		opened := make(chan error)
		go func() { _, err := b.tryOpen(); opened <- err }()
		go func() { _, err := b.tryOpen(); opened <- err }() // the second opening waits in the queue
		synctest.Wait()
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-opened; !errors.Is(err, ErrClosed) {
				t.Errorf("open: error %v, want ErrClosed", err)
			}
		}
		b.expectEvents(0, "term@0 exit@0")
	})
}

// TestMisuse sends requests that no program can send. They must return plain Go errors, not the
// *effect.Error that programs catch.
func TestMisuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, echoes)
		for _, r := range []effect.Request{&effect.ExchangeNext{ID: 7}, &effect.ExchangeReply{ID: 7}, &effect.Clock{}} {
			_, err := b.Perform(context.Background(), r)
			var e *effect.Error
			if err == nil || errors.As(err, &e) {
				t.Errorf("%s: error %v, want an error that is no *effect.Error", r.Kind(), err)
			}
		}
		b.closeExchange(7, "")
	})
}
