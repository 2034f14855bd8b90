package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// batchOf returns a batch with the messages of the lines.
func batchOf(t *testing.T, lines ...string) (b batch) {
	t.Helper()
	for _, l := range lines {
		if err := decodeMessage(b.nextMessage(), []byte(l), nil); err != nil {
			t.Fatal(err)
		}
		b.commitMessage()
	}
	return b
}

// readAll returns the messages of an inbox, followed by its state.
func readAll(in *inbox) string {
	b, now := in.takeBatch()
	if len(b.msgs) > 0 {
		return fmt.Sprint(len(b.msgs))
	}
	return [...]string{"waiting", "untaken", "complete", "failed", "failed"}[now]
}

// TestInbox checks three properties. Pending messages are returned before the end of the exchange,
// except after a timeout. No message follows the end. The end wakes waiting goroutines.
func TestInbox(t *testing.T) {
	const progress, result = `{"type":"progress"}`, `{"type":"result"}`
	broke := effect.Errorf("HostError", "broke")
	for _, c := range []struct {
		name string
		do   func(in *inbox)
		want string // the batches that are read until the inbox is closed
		ends bool
	}{
		{"nothing", func(*inbox) {}, "waiting", false},
		{"more to come", func(in *inbox) { in.addBatch(batchOf(t, progress), true) }, "1 waiting", false},
		{"all came", func(in *inbox) { in.addBatch(batchOf(t, progress), true); in.addBatch(batchOf(t, result), true) }, "2 complete", true},
		{"behind the last", func(in *inbox) { in.addBatch(batchOf(t, result), true); in.addBatch(batchOf(t, progress), true) }, "1 complete", true},
		{"a failure behind the last", func(in *inbox) { in.addBatch(batchOf(t, result), true); in.setFailure(broke) }, "1 complete", true},
		{"a failure", func(in *inbox) { in.addBatch(batchOf(t, progress), true); in.setFailure(broke) }, "1 failed", true},
		{"behind a failure", func(in *inbox) { in.setFailure(broke); in.addBatch(batchOf(t, progress), true) }, "failed", true},
		{"time is over", func(in *inbox) { in.addBatch(batchOf(t, progress), true); in.failOnTimeout(broke) }, "failed", true},
		{"not read", func(in *inbox) { in.requestProcess(false) }, "untaken", false},
		{"with messages after it", func(in *inbox) { in.requestProcess(false); in.addBatch(batchOf(t, progress), true) }, "untaken", false},
		{"read by another", func(in *inbox) { in.requestProcess(false); in.clearRequest(); in.addBatch(batchOf(t, progress), true) }, "1 waiting", false},
		{"read after all", func(in *inbox) { in.addBatch(batchOf(t, progress), true); in.requestProcess(false) }, "1 waiting", false},
		{"cancelled", func(in *inbox) {
			in.addBatch(batchOf(t, progress), true)
			in.discardAll()
			in.addBatch(batchOf(t, progress), true)
		}, "complete", false},
		{"cancelled, and ended", func(in *inbox) { in.discardAll(); in.addBatch(batchOf(t, result), true) }, "complete", true},
	} {
		in := newInbox()
		c.do(in)
		got := readAll(in)
		if got >= "0" && got <= "9" {
			got += " " + readAll(in)
		}
		ended := false
		select {
		case <-in.ended:
			ended = true
		default:
		}
		if got != c.want || ended != c.ends {
			t.Errorf("%s: batches %s, ended %v; want %s, %v", c.name, got, ended, c.want, c.ends)
		}
	}
	in := newInbox()
	_, first := in.failOnTimeout(broke)
	_, second := in.failOnTimeout(broke)
	_, unfinished := in.discardAll()
	if !first || second || !in.hasTimedOut() || in.failureError() != broke || in.requestProcess(false) || unfinished {
		t.Error("after a timeout, another timeout, discard or request for a process had an effect")
	}
	if in = newInbox(); in.hasTimedOut() || in.failureError() != nil || !in.requestProcess(false) || in.requestProcess(false) {
		t.Error("requestProcess did not return true exactly once")
	}
}

// TestBatchBounds checks that lines that arrive together are delivered in batches of limited size,
// and that a longer line forms a batch by itself.
func TestBatchBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := func(n int) string {
			return `{"type":"progress","message":"` + strings.Repeat("x", n) + `"}` + "\n"
		}
		b := newBubble(t, Config{}, func(h *memHost) {
			h.readLine()
			h.out.room = 1 << 30 // all lines fit into one write, so the batches are deterministic
			h.out.write(line(batchBytes*2/5) + line(batchBytes*2/5) + line(batchBytes*2/5) + line(batchBytes) + strings.Repeat(line(1), batchMessages+1))
			h.writeLine(`{"type":"result"}`)
			h.readLine()
		})
		id := b.openExchange()
		for _, want := range []int{2, 1, 1, batchMessages, 2} {
			synctest.Wait()
			if got := strings.Count(b.nextOutcome(id), "; ") + 1; got != want {
				t.Errorf("%d messages at once, want %d", got, want)
			}
		}
		b.closeExchange(id, "")
	})
}

// TestFailureHasCause checks that the failure of an exchange wraps the error of the unreadable
// line, so that callers can use errors.As.
func TestFailureHasCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(h *memHost) {
			h.readLine()
			h.writeLine(`{"type":"progress",`)
			h.readLine()
		})
		id := b.openExchange()
		_, err := b.Perform(t.Context(), &effect.ExchangeNext{ID: id})
		var broken *value.SyntaxError
		if !errors.As(err, &broken) {
			t.Errorf("error = %v, want one that wraps a *value.SyntaxError", err)
		}
		b.closeExchange(id, "")
	})
	p := &process{cfg: &Config{Name: "W"}, hosts: New(Options{MaxMemory: 3 << 20})}
	for err, want := range map[error]string{
		&ndjson.TooLongError{Limit: 8, Size: 9, Offset: 1}: "sent a line longer than 8 bytes (9 read, at offset 1 of its output)",
		&ndjson.EncodingError{Size: 4, At: 2, Offset: 7}:   "sent a line of 4 bytes that is not valid UTF-8 (byte 2 of it, at offset 7 of its output)",
		errTooLarge:         "sent a message whose values need more than the 3 MiB that [limits] max_memory_mb allows",
		errors.New("a leg"): "has unreadable output: a leg",
	} {
		if f := p.lineError(err, nil); !strings.HasSuffix(f.Message, want) || !errors.Is(f, err) {
			t.Errorf("message = %q, want the suffix %q and the cause", f.Message, want)
		}
	}
}

// TestNotices checks that messages of Concerto are no lines of a kept process, do not show that the
// process has read its prompt, and are dropped after the end.
func TestNotices(t *testing.T) {
	in := newInbox()
	in.addBatch(batch{msgs: batchOf(t, `{"type":"progress","message":"p"}`).msgs, lines: &effect.HostLines{First: 4, Text: []string{"line"}}}, true)
	in.takeBatch()
	notice := batchOf(t, `{"type":"host:decided"}`)
	if !in.addNotice(notice, true) {
		t.Fatal("a notice was dropped")
	}
	if b, _ := in.takeBatch(); len(b.msgs) != 1 || b.lines == nil || b.lines.First != 5 || len(b.lines.Text) != 0 {
		t.Errorf("a notice: %d messages, lines %+v; want 1 and no line before line 5", len(b.msgs), b.lines)
	}
	fresh := newInbox()
	if fresh.addNotice(notice, false); !fresh.requestProcess(false) {
		t.Error("after a notice, no other process is needed")
	}
	in.setFailure(&effect.Error{})
	if in.addNotice(notice, true) {
		t.Error("a notice was added after the end")
	}
}
