package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Owning the path to a mutated place. Each container on the path is made owned, and the result is
// stored in the container above it, which is already owned.

func opShare(t *task, in *ins) status {
	value.Share(*t.slot(in.a))
	return running
}

func opOwnCell(t *task, in *ins) status {
	c := *t.slot(in.b)
	if c.Kind() != value.KindCell {
		return t.badOperand(in)
	}
	return t.ownField(in.a, c, 0, in)
}

// makeOwned returns s as an owned value. If that requires a copy, makeOwned counts the copy.
func (t *task) makeOwned(s value.Slot) value.Slot {
	if value.IsShared(s) || t.m.config.AlwaysCopy {
		if t.m.memory.limit > 0 && !t.m.memory.fits(value.CopySize(s)) {
			panic(t.m.memory.exceeded())
		}
		c := value.Copy(s)
		if c != s {
			t.m.stats.Copied++
		}
		return c
	}
	return s
}

func opOwn(t *task, in *ins) status {
	d := t.slot(in.a)
	*d = t.makeOwned(*d)
	return running
}

func opOwnField(t *task, in *ins) status {
	return t.ownField(in.a, *t.slot(in.b), int(in.c), in)
}

func (t *task) ownField(d uint8, o value.Slot, n int, in *ins) status {
	f := o.Fields()
	if n >= len(f) {
		return t.badOperand(in)
	}
	f[n] = t.makeOwned(f[n])
	*t.slot(d) = f[n]
	return running
}

func opOwnElem(t *task, in *ins) status {
	a := t.slot(in.b).Array()
	if a == nil {
		return t.badOperand(in)
	}
	return t.ownElem(in.a, a, *intAt(t.fp, in.c))
}

func (t *task) ownElem(d uint8, a *value.Array, i int64) status {
	if uint64(i) >= uint64(a.Len) {
		return t.outOfRange(i, a.Len)
	}
	s := t.makeOwned(a.At(int(i)))
	a.Set(int(i), s)
	*t.slot(d) = s
	return running
}

func opOwnKey(t *task, in *ins) status {
	m := t.slot(in.b).Map()
	if m == nil {
		return t.badOperand(in)
	}
	return t.ownKey(in.a, m, *t.slot(in.c))
}

func (t *task) ownKey(d uint8, m *value.Map, k value.Slot) status {
	if !value.Hashable(k) || !m.Update(k, func(v value.Slot) value.Slot {
		v = t.makeOwned(v)
		*t.slot(d) = v
		return v
	}) {
		return t.noKey(k)
	}
	return running
}

// entries returns the places where functions begin.
func (m *image) entries(all []*function) []Place {
	var at []Place
	for _, f := range all {
		at = append(at, m.entryOf(f))
	}
	return at
}
