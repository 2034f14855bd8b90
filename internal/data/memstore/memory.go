// Package memstore implements the stores of the language in memory, without side effects. A store
// in a file has a Place instead of entries; package runtime/world/sqlitestore stores its entries.
package memstore

// Message is a message of a conversation. Role is "user", "assistant", "system" or another text.
type Message struct {
	Role, Content string
}

// Memory is a conversation (spec/12-stores.md). With a window of n, it contains the last n
// messages. It is not safe for concurrent use.
type Memory struct {
	// Place is the location of the messages in a file, or nil if they are in memory.
	Place *Place

	window   int
	trim     int
	messages []Message
}

// NewMemory returns an empty memory. Window 0 means unlimited. A full memory removes its oldest
// trim messages at once; 0 means 1.
func NewMemory(window, trim int) *Memory { return &Memory{window: window, trim: max(trim, 1)} }

// Append adds a message. If there are more messages than the window allows, it removes the oldest.
func (m *Memory) Append(role, content string) {
	m.messages = append(m.messages, Message{role, content})
	if m.window > 0 && len(m.messages) > m.window {
		n := copy(m.messages, m.messages[m.trim:])
		clear(m.messages[n:])
		m.messages = m.messages[:n]
	}
}

// Messages returns all messages, oldest first. The caller owns the slice.
func (m *Memory) Messages() []Message { return m.Last(len(m.messages)) }

// Last returns the last n messages, oldest first, or all if there are fewer.
func (m *Memory) Last(n int) []Message {
	n = min(max(n, 0), len(m.messages))
	return append([]Message(nil), m.messages[len(m.messages)-n:]...)
}

// Len returns the number of messages.
func (m *Memory) Len() int { return len(m.messages) }

// Window returns the maximum number of messages; 0 means unlimited.
func (m *Memory) Window() int { return m.window }

// Trim returns the number of messages that a full memory removes at once.
func (m *Memory) Trim() int { return m.trim }

// Clear removes all messages.
func (m *Memory) Clear() { m.messages = nil }
