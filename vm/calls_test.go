package vm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestShortenedCalls represents calls as letters, from the innermost call outwards, and checks the
// shortened trace.
func TestShortenedCalls(t *testing.T) {
	r := func(s string, n int) string { return strings.Repeat(s, n) }
	alphabet := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteRune(rune('a' + i%26))
			if i%3 == i/7%3 {
				b.WriteRune(rune('A' + i*i%26))
			}
		}
		return b.String()
	}
	long := alphabet(200)
	for _, c := range []struct{ calls, want string }{
		{"a", "a"},
		{r("a", 24), spaced(r("a", 24))},
		{r("a", 25) + "m", "(a)x25 m"},
		{"x" + r("ab", 20_000) + "m", "x (ab)x20000 m"},
		{"x" + r("ab", 20_000) + "am", "x (ab)x20000 a m"},
		{r("abc", 30) + r("d", 50) + r("ab", 9) + "m", "(abc)x30 (d)x50 (ab)x9 m"},
		{r("abcdefgh", 4) + "m", "(abcdefgh)x4 m"},
		{r("aab", 100) + "m", "(aab)x100 m"},
		{r("a", 2) + "b" + r("c", 30), "a a b (c)x30"},
		{long, spaced(long[:12]) + fmt.Sprintf(" %d left ", len(long)-20) + spaced(long[len(long)-8:])},
		{long + r("ab", 5000) + "m", spaced(long[:12]) + fmt.Sprintf(" %d left ", len(long)-18) + spaced(long[len(long)-6:]) + " (ab)x5000 m"},
	} {
		var cs calls
		for _, x := range c.calls {
			cs.addCall(call{pc: int32(x)})
		}
		copied := cs.clone()
		for _, cs := range []calls{cs, copied} {
			if got := lettered(cs.places(letter)); got != c.want {
				t.Errorf("places of %.60s… (%d calls) = %s, want %s", c.calls, len(c.calls), got, c.want)
			}
		}
		cs.addCall(call{pc: 'z'})
		if lettered(copied.places(letter)) != c.want {
			t.Errorf("%.60s…: addCall on the original changed the copy", c.calls)
		}
	}
}

func letter(c call) Place { return Place{Function: string(rune(c.pc))} }

func spaced(s string) string { return strings.Join(strings.Split(s, ""), " ") }

func lettered(trace []Place) string {
	var out []string
	for i := 0; i < len(trace); i++ {
		switch p := trace[i]; {
		case p.Left > 0:
			out = append(out, fmt.Sprintf("%d left", p.Left))
		case p.Cycle > 0:
			cycle := ""
			for _, q := range trace[i : i+p.Cycle] {
				cycle += q.Function
			}
			out = append(out, fmt.Sprintf("(%s)x%d", cycle, p.Times))
			i += p.Cycle - 1
		default:
			out = append(out, p.Function)
		}
	}
	return strings.Join(out, " ")
}

// TestShortenedCallsCount checks random traces. The stored and the dropped calls must add up to the
// number of added calls, and the number of stored steps must be within its limit.
func TestShortenedCallsCount(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		var cs calls
		n := 0
		var all []int
		for n < 500 {
			cycle := make([]int, 1+r.IntN(10))
			for i := range cycle {
				cycle[i] = 'a' + r.IntN(1+round%5)
			}
			for range r.IntN(12) {
				for _, pc := range cycle {
					cs.addCall(call{pc: int32(pc)})
					all = append(all, pc)
					n++
				}
			}
		}
		trace := cs.places(letter)
		counted := 0
		for _, p := range trace {
			counted += p.Left
			if p.Left == 0 {
				counted += max(p.Times, 1)
			}
		}
		if counted != n || len(trace) > maxTrace*maxCycle {
			t.Fatalf("the trace of %d calls represents %d calls in %d lines: %v", n, counted, len(trace), all)
		}
		if steps := len(cs.many.steps); steps > traceHead+2*maxSteps {
			t.Fatalf("%d steps are stored, more than the limit", steps)
		}
		if last := trace[len(trace)-1]; last.Function != string(rune(all[n-1])) || !slices.Contains(all, int(trace[0].Function[0])) {
			t.Fatalf("the last call of the trace is %s, which is wrong, or the first call is none that was added", last.Function)
		}
	}
}
