package value

import (
	"fmt"
	"testing"
)

// BenchmarkMap adds a million entries to a map, looks them up in another order, and deletes half of
// them.
func BenchmarkMap(b *testing.B) {
	const n = 1_000_000
	ints, strings := make([]Slot, n), make([]Slot, n)
	for i := range n {
		ints[i], strings[i] = Int(int64(i)*7919%10000019), String(fmt.Sprint("key ", i))
		(*Str)(strings[i].Ref).Hash()
	}
	for _, c := range []struct {
		name string
		keys []Slot
	}{{"Int", ints}, {"String", strings}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m := NewMap(0)
				for _, k := range c.keys {
					m.Set(k, k)
				}
				for i := range c.keys {
					if _, ok := m.Get(c.keys[i*7%n]); !ok {
						b.Fatal("Get did not find an existing key")
					}
				}
				for i := 0; i < n; i += 2 {
					m.Delete(c.keys[i])
				}
			}
		})
	}
}
