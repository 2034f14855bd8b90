package value

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMapAgainstModel performs random operations on a map and on a list of pairs, and compares the
// two.
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
					t.Fatalf("Lookup of %s returned the wrong value", Text(k))
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
					t.Fatal("Delete returned another value than the model")
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
				t.Fatalf("pair %d = %s, want the pair of the model", i, Text(p))
			}
		}
		i := 0
		m.Each(func(k, v Slot) bool {
			if !Equal(k, model[i].k) || !Equal(v, model[i].v) {
				t.Fatalf("entry %d = %s: %s, want the entry of the model", i, Text(k), Text(v))
			}
			if got, ok := m.Get(k); !ok || !Equal(got, v) {
				t.Fatalf("Get of the existing key %s found nothing", Text(k))
			}
			i++
			return true
		})
	}
}

// TestLargeMap checks lookups of existing and missing keys in a large map, which has an index,
// while the map changes.
func TestLargeMap(t *testing.T) {
	const n = 100_000
	m := NewMap(0)
	for i := range int64(n) {
		m.Set(Int(i*i), Int(i))
		m.SetString(Text(Int(i)), ArrayOf(Int(i)))
	}
	pairs := m.Pairs().Array()
	if pairs.Len != 2*n || m.Len() != 2*n {
		t.Fatalf("Pairs returned %d pairs for %d entries", pairs.Len, m.Len())
	}
	for i := range int64(n) {
		if i%4 != 0 {
			m.Delete(Int(i * i))
		}
	}
	for i := range int64(n) {
		if v := m.Lookup(Int(i * i)); (v != nil) != (i%4 == 0) || v != nil && *v != Int(i) {
			t.Fatalf("Lookup of %d returned the wrong value", i*i)
		}
		if v, ok := m.GetString(Text(Int(i))); !ok || !Equal(v, ArrayOf(Int(i))) || !IsShared(v) {
			t.Fatalf("value of the key %q = %s", Text(Int(i)), Text(v))
		}
		if _, ok := m.Get(Int(-1 - i)); ok {
			t.Fatalf("the map contains the missing key %d", -1-i)
		}
		if p := pairs.At(int(2 * i)); p.Fields()[0] != Int(i*i) || p.Fields()[1] != Int(i) {
			t.Fatalf("pair %d = %s", 2*i, Text(p))
		}
	}
}

// TestArrayAgainstModel performs random operations on an array, with elements of all
// representations, and on a slice, and compares the two.
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
					t.Fatal("Pop returned another value than the model")
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
					t.Fatal("Remove returned another value than the model")
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
					t.Fatalf("element %d = %s, want %s", i, Text(a.At(i)), Text(model[i]))
				}
			}
		}
		if !Equal(a.Slot(), ArrayOf(model...)) {
			t.Fatal("ArrayOf of the same elements returned a different array")
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

// TestCopyOnWrite checks that Own copies a shared container and marks the containers in it, without
// changing the original.
func TestCopyOnWrite(t *testing.T) {
	inner := ArrayOf(Int(1))
	m := NewMap(0)
	m.SetString("a", inner)
	point := &Type{Kind: TypeStruct, Name: "P", Fields: []Field{{Name: "x"}}}
	for _, s := range []Slot{ArrayOf(inner, Nil), m.Slot(), Tuple(inner), Some(Some(Nil)), Ok(inner), point.Struct(inner)} {
		if IsShared(s) || Own(s) != s {
			t.Errorf("the new container %s is shared", Text(s))
		}
		Share(s)
		c := Own(s)
		if c == s || IsShared(c) || !Equal(c, s) {
			t.Errorf("Own did not copy the shared container %s", Text(s))
		}
	}
	if !IsShared(inner) {
		t.Error("a container in a copy is not marked as shared")
	}
	for _, s := range []Slot{Nil, Int(1), String("x"), NewRange(1, 2), NewClosure(&Function{}), NewHandle("Memory", "", nil)} {
		Share(s)
		if IsShared(s) || Own(s) != s || Copy(s) != s {
			t.Errorf("Own or IsShared changed for %s, which is not a container", Text(s))
		}
	}
	if IntHead.Flags != 0 {
		t.Error("Share has written to a static head")
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
				t.Errorf("part %v of array %d = %s, want %s", r, k, got, want)
			}
			pushed := strings.TrimSuffix(want, "]") + ",1]"
			if want == "[]" {
				pushed = "[1]"
			}
			if got := Text(mine); got != pushed {
				t.Errorf("part %v of array %d after a change of another array = %s, want %s", r, k, got, pushed)
			}
			if r[1]-r[0] < 200 && a.Ref != changed.Ref && Text(a) != all {
				t.Errorf("after the part %v of array %d was changed, the array = %s", r, k, Text(a))
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
			t.Fatalf("a part of %d elements uses the memory of %d", a.Len, a.Cap)
		}
	}
}
