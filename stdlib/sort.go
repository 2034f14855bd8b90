package stdlib

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// sortBlock is how many elements are sorted at once.
const sortBlock = 1 << 13

// sorted sorts in place under a pace: it sorts blocks with sort, then merges
// them two by two. It is stable when sort is.
func sorted[T any](p *value.Pace, v []T, sort func([]T), compare func(x, y T) int) {
	for from := 0; from < len(v); from += sortBlock {
		block := v[from:min(from+sortBlock, len(v))]
		p.Step(4 * len(block))
		sort(block)
	}
	if len(v) <= sortBlock {
		return
	}
	from, to := v, make([]T, len(v))
	for size := sortBlock; size < len(v); size *= 2 {
		for at := 0; at < len(v); at += 2 * size {
			middle, end := min(at+size, len(v)), min(at+2*size, len(v))
			merge(p, from[at:middle], from[middle:end], to[at:end], compare)
		}
		from, to = to, from
	}
	if &from[0] != &v[0] {
		copy(v, from)
	}
}

// merge merges two sorted slices into one, which has room for both. Of equal
// elements x's come first.
func merge[T any](p *value.Pace, x, y, into []T, compare func(x, y T) int) {
	if len(x) == 0 || len(y) == 0 || compare(x[len(x)-1], y[0]) <= 0 {
		p.Step(len(into) >> 3)
		copy(into[copy(into, x):], y)
		return
	}
	n, next := 0, 0
	for len(x) > 0 && len(y) > 0 {
		if n == next {
			p.Step(sortBlock)
			next += sortBlock
		}
		if compare(x[0], y[0]) <= 0 {
			into[n], x = x[0], x[1:]
		} else {
			into[n], y = y[0], y[1:]
		}
		n++
	}
	copy(into[n+copy(into[n:], x):], y)
}

// sortInts sorts Ints.
func sortInts(p *value.Pace, v []int64) {
	sorted(p, v, slices.Sort[[]int64], func(x, y int64) int {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// sortStable sorts anything, and keeps the order of equal elements.
func sortStable[T any](p *value.Pace, v []T, compare func(x, y T) int) {
	sorted(p, v, func(block []T) { slices.SortStableFunc(block, compare) }, compare)
}
