package codegen

import (
	"math"

	"github.com/concerto-lang/concerto/ir"
)

// pool adds constants and the names of native functions to the program. It adds equal constants
// only once. Floats are equal if their bits are equal.
type pool struct {
	out     *ir.Program
	ints    map[int64]int
	floats  map[uint64]int
	strings map[string]int
	natives map[string]int
}

func newPool(out *ir.Program) pool {
	return pool{out, map[int64]int{}, map[uint64]int{}, map[string]int{}, map[string]int{}}
}

func (p *pool) intConst(n int64) int32 {
	i, ok := p.ints[n]
	if !ok {
		own := n // a copy, because the address of n would move n to the heap in every call
		i = p.addConst(ir.Const{Int: &own})
		p.ints[n] = i
	}
	return int32(i)
}

func (p *pool) floatConst(f float64) int32 {
	i, ok := p.floats[math.Float64bits(f)]
	if !ok {
		own := f
		i = p.addConst(ir.Const{Float: &own})
		p.floats[math.Float64bits(f)] = i
	}
	return int32(i)
}

func (p *pool) stringConst(s string) int32 {
	i, ok := p.strings[s]
	if !ok {
		own := s
		i = p.addConst(ir.Const{String: &own})
		p.strings[s] = i
	}
	return int32(i)
}

func (p *pool) addConst(c ir.Const) int {
	p.out.Constants = append(p.out.Constants, c)
	return len(p.out.Constants) - 1
}

func (p *pool) native(name string) int32 {
	i, ok := p.natives[name]
	if !ok {
		i = len(p.out.Natives)
		p.natives[name] = i
		p.out.Natives = append(p.out.Natives, name)
	}
	return int32(i)
}
