package vm

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/complexity"
)

func TestAsks(t *testing.T) {
	x := &hostStream{}
	var all []*ask
	for i := range 100 {
		id := strconv.Itoa(i / 2) // each two have one
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
			t.Errorf("%d is found at %d, want %d", id, got, want)
		}
		if got >= 0 && !x.withdraw(strconv.Itoa(id)) {
			t.Errorf("%d is not taken back", id)
		}
		if want := left(); !slices.Equal(x.asks.open(), want) || x.asks.live != len(want) {
			t.Fatalf("%d are open, %d are counted, want %d", len(x.asks.open()), x.asks.live, len(want))
		}
	}
	if x.asks.find("none") != nil || x.withdraw("") {
		t.Error("what was not asked is found")
	}
	(&ask{of: x, typ: "odd", id: "1"}).markSettled(askAnswered) // no one waits for the answer
	if x.asks.live != len(left()) {
		t.Error("an answer to no open message counts")
	}
}

// TestManyAsks: a host that asks without end, and a program that does not answer, do not
// make each of them longer to deal with.
func TestManyAsks(t *testing.T) {
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
					x.withdraw(strconv.Itoa(n - 1 - i))
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
					x.withdraw("q")
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) { complexity.Linear(t, 5_000, play) })
	}
}
