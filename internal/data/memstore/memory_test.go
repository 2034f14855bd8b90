package memstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMemory(t *testing.T) {
	m := NewMemory(0, 0)
	if m.Len() != 0 || len(m.Last(3)) != 0 {
		t.Fatal("a new memory is not empty")
	}
	m.Append("user", "a")
	m.Append("assistant", "b")
	m.Append("user", "c")
	if diff := cmp.Diff([]Message{{"assistant", "b"}, {"user", "c"}}, m.Last(2)); diff != "" {
		t.Error(diff)
	}
	if n := len(m.Last(-1)); n != 0 {
		t.Error(n)
	}
	got := m.Messages()
	got[0].Content = "changed"
	if m.Messages()[0].Content != "a" {
		t.Error("changing the result of Messages changed the memory")
	}
	m.Clear()
	if m.Len() != 0 {
		t.Error("the memory has messages after Clear")
	}
}

func TestMemoryWindow(t *testing.T) {
	m := NewMemory(2, 0)
	for _, s := range []string{"a", "b", "c", "d"} {
		m.Append("user", s)
	}
	if diff := cmp.Diff([]Message{{"user", "c"}, {"user", "d"}}, m.Messages()); diff != "" {
		t.Error(diff)
	}
	if m.Window() != 2 || m.Len() != 2 {
		t.Error(m.Window(), m.Len())
	}
}

// TestMemoryTrim fills a memory that removes several messages at once.
func TestMemoryTrim(t *testing.T) {
	m, lens := NewMemory(4, 2), []int(nil)
	for range 8 {
		m.Append("user", "a")
		lens = append(lens, m.Len())
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 3, 4, 3, 4}, lens); diff != "" {
		t.Error(diff)
	}
}
