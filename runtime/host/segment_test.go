package host

import (
	"testing"
	"testing/synctest"
)

// TestMessagesOfAnExchange checks that output after a terminal message belongs to no exchange. The
// next exchange must receive all its messages, however the output is split into reads.
func TestMessagesOfAnExchange(t *testing.T) {
	const result = `{"type":"result","text":"done"}` + "\n"
	for _, c := range []struct{ name, rest, next string }{
		{"nothing", "", ""},
		{"a blank line", "\n", ""},
		{"blank lines and half of one", "\n \r\n\n  ", ""},
		{"a message", `{"type":"progress","message":"late"}` + "\n", ""},
		{"half a message", `{"type":"progress",`, `"message":"late"}` + "\n"},
		{"half a line of text", "so ", "late\n"},
		{"a second result and a blank line", result + "\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{}, func(h *memHost) {
					h.readLine()
					h.out.write(result + c.rest)
					h.readLine()
					h.out.write(c.next)
					h.writeLine(`{"type":"progress","message":"first"}`)
					h.writeLine(`{"type":"result","text":"fine"}`)
					h.readLine()
				})
				id := b.openExchange()
				b.expectMessage(id, `result {"text":"done"}`)
				synctest.Wait()
				b.closeExchange(id, "")
				id = b.openExchange()
				synctest.Wait()
				b.expectMessage(id, `progress {"message":"first"}; result {"text":"fine"}`)
				b.closeExchange(id, "")
				if n := len(b.mem.all); n != 1 {
					t.Errorf("%d processes were started, want 1", n)
				}
			})
		})
	}
}

// TestOutputBeforePromptIsDropped checks that a process may write before its first prompt, as a
// command does that does not read its input.
func TestOutputBeforePromptIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(h *memHost) {
			h.writeLine(`{"type":"result","text":"at once"}`)
			h.readLine()
		})
		pool := b.pools["w"]
		if _, err := pool.free[0].acquire(t.Context(), acquireSpec{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		id := b.openExchange()
		b.expectMessage(id, `result {"text":"at once"}`)
		b.closeExchange(id, "")
	})
}
