package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Operations on arrays and maps in the cases that the dispatch loop does not handle itself: a
// representation that the loop does not support, an index out of range, growth.

func opArrayGet(t *task, in *ins) status { return t.arrayGet(in, true) }

func opArraySet(t *task, in *ins) status { return t.arraySet(in, *t.slot(in.c)) }

func opArraySetInt(t *task, in *ins) status { return t.arraySet(in, boxed(*t.slot(in.c), ir.Int)) }

func opArraySetFloat(t *task, in *ins) status { return t.arraySet(in, boxed(*t.slot(in.c), ir.Float)) }

func opArraySetBool(t *task, in *ins) status { return t.arraySet(in, boxed(*t.slot(in.c), ir.Bool)) }

func opArraySwap(t *task, in *ins) status {
	a := t.slot(in.a).Array()
	if a == nil {
		return t.badOperand(in)
	}
	i, j := *intAt(t.fp, in.b), *intAt(t.fp, in.c)
	for _, n := range [...]int64{i, j} {
		if uint64(n) >= uint64(a.Len) {
			return t.outOfRange(n, a.Len)
		}
	}
	a.Swap(int(i), int(j))
	return running
}

func opArrayPush(t *task, in *ins) status { return t.arrayPush(in, *t.slot(in.b)) }

func opArrayPushInt(t *task, in *ins) status { return t.arrayPush(in, boxed(*t.slot(in.b), ir.Int)) }

func opArrayPushFloat(t *task, in *ins) status {
	return t.arrayPush(in, boxed(*t.slot(in.b), ir.Float))
}

func opArrayPushBool(t *task, in *ins) status { return t.arrayPush(in, boxed(*t.slot(in.b), ir.Bool)) }

func opMapLen(t *task, in *ins) status {
	m := t.slot(in.b).Map()
	if m == nil {
		return t.badOperand(in)
	}
	*intAt(t.fp, in.a) = int64(m.Len())
	return running
}

func opMapSet(t *task, in *ins) status {
	m, k := t.slot(in.a).Map(), *t.slot(in.b)
	if m == nil {
		return t.badOperand(in)
	}
	if !value.Hashable(k) {
		return t.badKey(k)
	}
	if t.m.memory.limit > 0 {
		if st := t.reserveMemory(m.SetSize(k)); st != running {
			return st
		}
	}
	m.Set(k, *t.slot(in.c))
	return running
}

func opArrayGetScalar(t *task, in *ins) status { return t.arrayGet(in, false) }

func (t *task) outOfRange(i int64, n int) status {
	return t.fault("index %d is out of range: the length is %d", i, n)
}

func (t *task) arrayGet(in *ins, full bool) status {
	a := t.slot(in.b).Array()
	if a == nil {
		return t.badOperand(in)
	}
	i := *intAt(t.fp, in.c)
	if uint64(i) >= uint64(a.Len) {
		return t.outOfRange(i, a.Len)
	}
	if s := a.At(int(i)); full {
		*t.slot(in.a) = s
	} else {
		*bitsAt(t.fp, in.a) = s.Bits
	}
	return running
}

func (t *task) arraySet(in *ins, s value.Slot) status {
	a := t.slot(in.a).Array()
	if a == nil {
		return t.badOperand(in)
	}
	i := *intAt(t.fp, in.b)
	if uint64(i) >= uint64(a.Len) {
		return t.outOfRange(i, a.Len)
	}
	a.Set(int(i), s)
	return running
}

func (t *task) arrayPush(in *ins, s value.Slot) status {
	a := t.slot(in.a).Array()
	if a == nil {
		return t.badOperand(in)
	}
	if t.m.memory.limit > 0 {
		if st := t.reserveMemory(a.PushSize(s)); st != running {
			return st
		}
	}
	a.Push(s)
	return running
}

func opMapGet(t *task, in *ins) status {
	m, k := t.slot(in.b).Map(), *t.slot(in.c)
	if m == nil {
		return t.badOperand(in)
	}
	if !value.Hashable(k) {
		return t.noKey(k)
	}
	v := m.Lookup(k)
	if v == nil {
		return t.noKey(k)
	}
	*t.slot(in.a) = *v
	return running
}

func (t *task) noKey(k value.Slot) status {
	return t.fault("the map has no key %s", value.AppendJSON(nil, k))
}

func opMapFind(t *task, in *ins) status {
	m, k := t.slot(in.b).Map(), *t.slot(in.c)
	if m == nil {
		return t.badOperand(in)
	}
	d := t.slot(in.a)
	*d = value.Nil
	if value.Hashable(k) {
		if v := m.Lookup(k); v != nil {
			*d = value.Some(*v)
		}
	}
	return running
}

// opIterate prepares the array that a `for` loop iterates over. The body may change the collection
// during the loop, so an array is marked as shared, and any other collection is copied.
func opIterate(t *task, in *ins) status {
	s := value.Flatten(*t.slot(in.b))
	switch s.Kind() {
	case value.KindArray:
		value.Share(s)
	case value.KindMap:
		t.m.pace.Step(4 * s.Map().Len())
		s = s.Map().Pairs()
	case value.KindRange:
		n, ok := s.RangeLen()
		if !ok || n > 1<<28 {
			return t.fault("range %s is too long to iterate over as an array", value.Text(s))
		}
		if st := t.reserveMemory(8 * int(n)); st != running {
			return st
		}
		first, _ := s.Range()
		ints := make([]int64, n)
		t.m.pace.Parts(len(ints), func(from, to int) {
			for i := from; i < to; i++ {
				ints[i] = first + int64(i)
			}
		})
		s = value.IntArray(ints)
	default:
		if h := hashMapOf(s); h != nil && h.Place != nil {
			return t.iterateFileMap(h, in.a)
		}
		elements, ok := elementsOf(s)
		if !ok {
			return t.fault("cannot iterate over %s", describe(s))
		}
		s = elements
	}
	*t.slot(in.a) = s
	return t.chargeResult(s)
}

// elementsOf returns the elements of a hashmap, or of a library collection in an Any, as an array.
func elementsOf(s value.Slot) (value.Slot, bool) {
	if h := hashMapOf(s); h != nil {
		return h.Entries().Pairs(), true
	}
	if s.Kind() != value.KindStruct || !s.Type().Elements || len(s.Fields()) == 0 {
		return value.Nil, false
	}
	first := s.Fields()[0]
	m := first.Map()
	if m == nil {
		value.Share(first)
		return first, first.Array() != nil
	}
	all := value.NewArray()
	m.Each(func(_, v value.Slot) bool {
		value.Share(v)
		all.Push(v)
		return true
	})
	return all.Slot(), true
}
