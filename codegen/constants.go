package codegen

import (
	"math"

	"github.com/concerto-lang/concerto/ir"
)

// The constant pool: each value once. Floats are told apart by their bits.

func (g *generator) intConst(n int64) int32 {
	i, ok := g.ints[n]
	if !ok {
		own := n // n itself stays off the heap when it is known
		i = g.addConst(ir.Const{Int: &own})
		g.ints[n] = i
	}
	return int32(i)
}

func (g *generator) floatConst(f float64) int32 {
	i, ok := g.floats[math.Float64bits(f)]
	if !ok {
		own := f
		i = g.addConst(ir.Const{Float: &own})
		g.floats[math.Float64bits(f)] = i
	}
	return int32(i)
}

func (g *generator) stringConst(s string) int32 {
	i, ok := g.strings[s]
	if !ok {
		own := s
		i = g.addConst(ir.Const{String: &own})
		g.strings[s] = i
	}
	return int32(i)
}

func (g *generator) addConst(c ir.Const) int {
	g.out.Constants = append(g.out.Constants, c)
	return len(g.out.Constants) - 1
}

func (g *generator) native(name string) int32 {
	i, ok := g.natives[name]
	if !ok {
		i = len(g.out.Natives)
		g.natives[name] = i
		g.out.Natives = append(g.out.Natives, name)
	}
	return int32(i)
}
