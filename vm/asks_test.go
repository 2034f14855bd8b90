package vm

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/complexity"
)

func TestHostQuestions(t *testing.T) {
	x := &hostStream{}
	var all []*ask
	for i := range 100 {
		id := strconv.Itoa(i / 2) // two consecutive messages share an ID
		if i%10 == 9 {
			id = ""
		}
		k := &ask{of: x, id: id, waits: true}
		all = append(all, k)
		x.asks.add(k)
	}
	left := func() []*ask {
		return slices.DeleteFunc(slices.Clone(all), func(k *ask) bool { return k.answered != "" })
	}
	for i := 0; i < 100; i += 3 {
		all[i].markSettled(askAnswered)
	}
	for id := range 50 {
		want := slices.IndexFunc(all, func(k *ask) bool { return k.id == strconv.Itoa(id) && k.answered == "" })
		got := slices.Index(all, x.asks.find(strconv.Itoa(id)))
		if got != want {
			t.Errorf("find(%d) returned the message with index %d, want %d", id, got, want)
		}
		if got >= 0 && !x.withdraw(&effect.HostMessage{ID: strconv.Itoa(id)}) {
			t.Errorf("withdraw(%d) = false, want true", id)
		}
		if want := left(); !slices.Equal(x.asks.open(), want) || x.asks.live != len(want) {
			t.Fatalf("open() has %d messages and live = %d, want %d for both", len(x.asks.open()), x.asks.live, len(want))
		}
	}
	if x.asks.find("none") != nil || x.withdraw(&effect.HostMessage{}) {
		t.Error("find or withdraw found a message that was never added")
	}
	(&ask{of: x, typ: "odd", id: "1"}).markSettled(askAnswered) // no one waits for the answer
	if x.asks.live != len(left()) {
		t.Error("an answer to a message that was not open changed the number of live messages")
	}
}

// TestManyUnansweredQuestions checks that the time to process a message does not grow with the
// number of unanswered messages.
func TestManyUnansweredQuestions(t *testing.T) {
	many := func(n int, id func(i int) string) (*hostStream, []*ask) {
		x := &hostStream{}
		var all []*ask
		for i := range n {
			k := &ask{of: x, id: id(i), waits: true}
			all = append(all, k)
			x.asks.add(k)
		}
		return x, all
	}
	same := func(int) string { return "q" }
	for name, play := range map[string]func(n int) time.Duration{
		"closed": func(n int) time.Duration {
			x, _ := many(n, strconv.Itoa)
			return complexity.CPUTime(func() {
				for _, k := range x.asks.open() {
					k.markSettled(askClosed)
				}
			})
		},
		"answered from the last": func(n int) time.Duration {
			_, all := many(n, strconv.Itoa)
			return complexity.CPUTime(func() {
				for _, k := range slices.Backward(all) {
					k.markSettled(askAnswered)
				}
			})
		},
		"taken back": func(n int) time.Duration {
			x, _ := many(n, strconv.Itoa)
			return complexity.CPUTime(func() {
				for i := range n {
					x.withdraw(&effect.HostMessage{ID: strconv.Itoa(n - 1 - i)})
				}
			})
		},
		"of one id": func(n int) time.Duration {
			x, all := many(n, same)
			return complexity.CPUTime(func() {
				for _, k := range slices.Backward(all[n/2:]) {
					k.markSettled(askAnswered)
				}
				for range n / 2 {
					x.withdraw(&effect.HostMessage{ID: "q"})
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) { complexity.Linear(t, 5_000, play) })
	}
}
