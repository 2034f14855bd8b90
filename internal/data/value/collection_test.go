package value

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMapAgainstModel runs random operations on a map and on a plain list of
// pairs.
func TestMapAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	key := func() Slot {
		switch n := r.IntN(40); {
		case n < 20:
			return Int(int64(n))
		case n < 38:
			return String(string(rune('a' + n)))
		default:
			return Bool(n == 38)
		}
	}
	type pair struct{ k, v Slot }
	for range 200 {
		m := NewMap(0)
		var model []pair
		at := func(k Slot) int { return slices.IndexFunc(model, func(p pair) bool { return Equal(p.k, k) }) }
		for step := range 200 {
			k := key()
			if r.IntN(2) == 0 {
				v := m.Lookup(k)
				if i := at(k); (v != nil) != (i >= 0) || v != nil && !Equal(*v, model[i].v) {
					t.Fatalf("%s is looked up wrongly", Text(k))
				}
			}
			switch r.IntN(5) {
			case 0, 1, 2:
				v := Int(int64(step))
				if i := at(k); i >= 0 {
					model[i].v = v
				} else {
					model = append(model, pair{k, v})
				}
				m.Set(k, v)
			case 3:
				_, ok := m.Delete(k)
				if i := at(k); ok != (i >= 0) {
					t.Fatal("delete disagrees")
				} else if i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
			case 4:
				m = m.clone()
			}
			if m.Len() != len(model) {
				t.Fatalf("length %d, want %d", m.Len(), len(model))
			}
		}
		for i, p := range m.Pairs().Array().Slots() {
			if !Equal(p, Tuple(model[i].k, model[i].v)) {
				t.Fatalf("pair %d is %s", i, Text(p))
			}
		}
		i := 0
		m.Each(func(k, v Slot) bool {
			if !Equal(k, model[i].k) || !Equal(v, model[i].v) {
				t.Fatalf("entry %d is %s: %s", i, Text(k), Text(v))
			}
			if got, ok := m.Get(k); !ok || !Equal(got, v) {
				t.Fatalf("%s is not found", Text(k))
			}
			i++
			return true
		})
	}
}

// TestLargeMap: each key of a large map is found through the index, and no key
// that is absent; entries stay right while the map changes.
func TestLargeMap(t *testing.T) {
	const n = 100_000
	m := NewMap(0)
	for i := range int64(n) {
		m.Set(Int(i*i), Int(i))
		m.SetString(Text(Int(i)), ArrayOf(Int(i)))
	}
	pairs := m.Pairs().Array()
	if pairs.Len != 2*n || m.Len() != 2*n {
		t.Fatalf("%d pairs of %d entries", pairs.Len, m.Len())
	}
	for i := range int64(n) {
		if i%4 != 0 {
			m.Delete(Int(i * i))
		}
	}
	for i := range int64(n) {
		if v := m.Lookup(Int(i * i)); (v != nil) != (i%4 == 0) || v != nil && *v != Int(i) {
			t.Fatalf("%d is looked up wrongly", i*i)
		}
		if v, ok := m.GetString(Text(Int(i))); !ok || !Equal(v, ArrayOf(Int(i))) || !IsShared(v) {
			t.Fatalf("%q: got %s", Text(Int(i)), Text(v))
		}
		if _, ok := m.Get(Int(-1 - i)); ok {
			t.Fatalf("%d is there", -1-i)
		}
		if p := pairs.At(int(2 * i)); p.Fields()[0] != Int(i*i) || p.Fields()[1] != Int(i) {
			t.Fatalf("pair %d is %s", 2*i, Text(p))
		}
	}
}

// TestArrayAgainstModel runs random operations on an array, with elements of
// all representations, and on a slice.
func TestArrayAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		element := func() Slot {
			kinds := 1 + round%4
			switch r.IntN(kinds) {
			case 0:
				return Int(r.Int64N(10))
			case 1:
				return Float(0.5)
			case 2:
				return Bool(true)
			}
			return String("s")
		}
		a, model := NewArray(), []Slot{}
		for range 60 {
			switch op := r.IntN(9); {
			case op < 3:
				s := element()
				a.Push(s)
				model = append(model, s)
			case op == 3:
				s, ok := a.Pop()
				if ok != (len(model) > 0) || ok && s != model[len(model)-1] {
					t.Fatal("pop disagrees")
				}
				model = model[:max(len(model)-1, 0)]
			case op == 4 && len(model) > 0:
				i, s := r.IntN(len(model)), element()
				a.Set(i, s)
				model[i] = s
			case op == 5:
				i, s := r.IntN(len(model)+1), element()
				a.Insert(i, s)
				model = slices.Insert(model, i, s)
			case op == 6 && len(model) > 0:
				i := r.IntN(len(model))
				if s := a.Remove(i); s != model[i] {
					t.Fatal("remove disagrees")
				}
				model = slices.Delete(model, i, i+1)
			case op == 7:
				b := a.Slice(0, len(model)/2)
				a.Extend(b)
				model = append(model, slices.Clone(model[:len(model)/2])...)
			case op == 8 && len(model) > 40:
				n := r.IntN(len(model))
				a.Truncate(n)
				model = model[:n]
			}
			if a.Len != len(model) {
				t.Fatalf("length %d, want %d", a.Len, len(model))
			}
			for i := range model {
				if a.At(i) != model[i] {
					t.Fatalf("element %d is %s, want %s", i, Text(a.At(i)), Text(model[i]))
				}
			}
		}
		if !Equal(a.Slot(), ArrayOf(model...)) {
			t.Fatal("ArrayOf returns a different array")
		}
	}
}

func TestExtendItself(t *testing.T) {
	a := ArrayOf(Int(1), String("x")).Array()
	a.Extend(a)
	if got := Text(a.Slot()); got != `[1,"x",1,"x"]` {
		t.Error(got)
	}
}

// TestOwn: a shared container is copied, its children are marked, and the
// original never changes.
func TestOwn(t *testing.T) {
	inner := ArrayOf(Int(1))
	m := NewMap(0)
	m.SetString("a", inner)
	point := &Type{Kind: TypeStruct, Name: "P", Fields: []Field{{Name: "x"}}}
	for _, s := range []Slot{ArrayOf(inner, Nil), m.Slot(), Tuple(inner), Some(Some(Nil)), Ok(inner), point.Struct(inner)} {
		if IsShared(s) || Own(s) != s {
			t.Errorf("%s is shared from the start", Text(s))
		}
		Share(s)
		c := Own(s)
		if c == s || IsShared(c) || !Equal(c, s) {
			t.Errorf("%s is not copied", Text(s))
		}
	}
	if !IsShared(inner) {
		t.Error("a child of a copy is not marked")
	}
	for _, s := range []Slot{Nil, Int(1), String("x"), NewRange(1, 2), NewClosure(&Function{}), NewHandle("Memory", "", nil)} {
		Share(s)
		if IsShared(s) || Own(s) != s || Copy(s) != s {
			t.Errorf("%s is no container", Text(s))
		}
	}
	if IntHead.Flags != 0 {
		t.Error("a static head was written")
	}
}

// TestPartKeepsElements checks that later changes do not affect the elements of a part, and that a
// part uses at most twice its own memory.
func TestPartKeepsElements(t *testing.T) {
	whole := func() []Slot {
		ints, floats, bools, strs, nested := NewArray(), NewArray(), NewArray(), NewArray(), NewArray()
		for i := range 200 {
			ints.Push(Int(int64(i)))
			floats.Push(Float(float64(i)))
			bools.Push(Bool(i%3 == 0))
			strs.Push(String(strconv.Itoa(i)))
			nested.Push(ArrayOf(Int(int64(i))))
		}
		return []Slot{ints.Slot(), floats.Slot(), bools.Slot(), strs.Slot(), nested.Slot()}
	}
	for k := range whole() {
		for _, r := range [][2]int{{0, 200}, {1, 200}, {0, 199}, {60, 180}, {190, 200}, {5, 5}} {
			a := whole()[k]
			want := Text(a.Array().Slice(r[0], r[1]).Slot())
			all := Text(a)
			part := a.Array().Part(r[0], r[1]).Slot()
			nested := part.Array().Part(0, part.Array().Len).Slot()
			changed := Own(a)
			changed.Array().Set(0, Nil)
			changed.Array().Push(Nil)
			if changed.Array().Len > 100 {
				changed.Array().Remove(100)
			}
			mine := Own(part)
			mine.Array().Push(Int(1))
			if got := Text(nested); got != want {
				t.Errorf("%v of array %d: %s, want %s", r, k, got, want)
			}
			pushed := strings.TrimSuffix(want, "]") + ",1]"
			if want == "[]" {
				pushed = "[1]"
			}
			if got := Text(mine); got != pushed {
				t.Errorf("%v of array %d changed: %s, want %s", r, k, got, pushed)
			}
			if r[1]-r[0] < 200 && a.Ref != changed.Ref && Text(a) != all {
				t.Errorf("%v of array %d: the whole is %s", r, k, Text(a))
			}
		}
	}
	a := NewArray()
	for i := range 1 << 12 {
		a.Push(Int(int64(i)))
	}
	for a.Len > 1 {
		a = a.Part(1, a.Len)
		if a.Cap > max(2*a.Len, minPart) {
			t.Fatalf("%d elements keep the memory of %d", a.Len, a.Cap)
		}
	}
}
