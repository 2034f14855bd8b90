package vm

import "slices"

// calls are the instruction numbers of a trace: the place, then its callers'.
// Of many only the beginning and the end are kept, so that an error which comes
// up out of a deep recursion costs no more than another.
type calls struct {
	first []int // up to maxTrace of them
	last  [traceTail]int
	n     int
}

// A trace of more than maxTrace calls is told by its first traceHead and its
// last traceTail.
const (
	maxTrace  = 24
	traceHead = 12
	traceTail = 8
)

func callsOf(pc int) calls {
	var c calls
	c.add(pc)
	return c
}

func (c *calls) add(pc int) {
	if len(c.first) < maxTrace {
		c.first = append(c.first, pc)
	}
	c.last[c.n%traceTail] = pc
	c.n++
}

func (c *calls) clone() calls {
	return calls{first: slices.Clone(c.first), last: c.last, n: c.n}
}

// places finds the calls' places. What was left out stands as one Place that
// counts it.
func (c *calls) places(place func(i, pc int) Place) []Place {
	if c.n == 0 {
		return nil
	}
	var out []Place
	if c.n <= maxTrace {
		for i, pc := range c.first {
			out = append(out, place(i, pc))
		}
		return out
	}
	for i, pc := range c.first[:traceHead] {
		out = append(out, place(i, pc))
	}
	out = append(out, Place{Left: c.n - traceHead - traceTail})
	for i := c.n - traceTail; i < c.n; i++ {
		out = append(out, place(i, c.last[i%traceTail]))
	}
	return out
}
