// Package memstore implements the language's stores in memory. It is pure and deterministic. A
// store in a file has a Place here instead of entries; package runtime/world/sqlitestore stores its
// entries.
package memstore

// Message is a message of a conversation. Role is "user", "assistant", "system" or any text of the
// program.
type Message struct {
	Role, Content string
}

// Memory is a conversation (spec/12-stores.md). With a window of n it retains the n latest
// messages. It is not safe for concurrent use.
type Memory struct {
	// Place is the location of the messages in a file, or nil if they are in memory.
	Place *Place

	window   int
	messages []Message
}

// NewMemory makes an empty memory; window 0 is unbounded.
func NewMemory(window int) *Memory { return &Memory{window: window} }

// Append adds a message; beyond the window the oldest is dropped.
func (m *Memory) Append(role, content string) {
	m.messages = append(m.messages, Message{role, content})
	if m.window > 0 && len(m.messages) > m.window {
		n := copy(m.messages, m.messages[len(m.messages)-m.window:])
		clear(m.messages[n:])
		m.messages = m.messages[:n]
	}
}

// Messages returns all messages, oldest first. The caller owns the slice.
func (m *Memory) Messages() []Message { return m.Last(len(m.messages)) }

// Last returns the n latest messages, or all when there are fewer, oldest first.
func (m *Memory) Last(n int) []Message {
	n = min(max(n, 0), len(m.messages))
	return append([]Message(nil), m.messages[len(m.messages)-n:]...)
}

// Len counts messages.
func (m *Memory) Len() int { return len(m.messages) }

// Window returns the maximum number of messages; 0 means unlimited.
func (m *Memory) Window() int { return m.window }

// Clear drops all messages.
func (m *Memory) Clear() { m.messages = nil }
