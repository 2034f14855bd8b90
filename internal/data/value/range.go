package value

import (
	"math"
	"strconv"
)

// A range is a block of two Ints: the first Int, and the Int after the last one. The largest Int
// has no successor. A range that ends with it contains the last Int instead, and has a third slot
// to mark this.

// NewRange returns lo..hi; hi is exclusive.
func NewRange(lo, hi int64) Slot {
	if lo == math.MinInt64 && hi == lo {
		lo++ // the range is still empty, and lo-1 exists
	}
	return New(KindRange, 0, nil, Int(lo), Int(hi))
}

// NewRangeTo returns lo..=last.
func NewRangeTo(lo, last int64) Slot {
	if last < math.MaxInt64 {
		return NewRange(lo, last+1)
	}
	return New(KindRange, 0, nil, Int(lo), Int(last), Bool(true))
}

// Range returns the first and the last Int of a range. If the range is empty, last is less than
// first.
func (s Slot) Range() (first, last int64) {
	f := fields(s.Ref)
	first, last = f[0].AsInt(), f[1].AsInt()
	if len(f) == 2 && last > math.MinInt64 {
		last--
	}
	return first, last
}

// RangeBounds returns the bounds of a range for slicing, where hi is exclusive. For a range that
// ends with the largest Int, hi is that Int, because no array or text is that long.
func (s Slot) RangeBounds() (lo, hi int64) {
	f := fields(s.Ref)
	return f[0].AsInt(), f[1].AsInt()
}

// RangeLen returns the number of Ints in a range. ok is false for the range of all 2^64 Ints, whose
// number is not a uint64.
func (s Slot) RangeLen() (n uint64, ok bool) {
	first, last := s.Range()
	if last < first {
		return 0, true
	}
	n = uint64(last) - uint64(first) + 1
	return n, n > 0
}

func appendRange(dst []byte, s Slot) []byte {
	f := fields(s.Ref)
	dst = append(strconv.AppendInt(dst, f[0].AsInt(), 10), ".."...)
	if len(f) == 3 {
		dst = append(dst, '=')
	}
	return strconv.AppendInt(dst, f[1].AsInt(), 10)
}
