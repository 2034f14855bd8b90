package vm

import "github.com/concerto-lang/concerto/ir"

// A position identifies an instruction independently of how the code was loaded. block is the
// number of the block: functions are numbered in order, each followed by the blocks of its
// handlers, and the stubs of tools come last. at is the number of the IR instruction in the block.
// In a stub, which has no IR, at is the number of the VM's instruction.
type position struct{ block, at int32 }

// positionMap converts instructions of the VM to positions, and contains the classes of registers.
// An image has one, which is created on first use.
type positionMap struct {
	m      *image
	states *ir.States
	blocks map[*ir.Block]int32 // number of the block, by its IR
	size   int                 // number of blocks of the program; those of added code follow
}

func (m *image) positionMap() *positionMap {
	if m.mapped != nil {
		return m.mapped
	}
	p := &positionMap{m: m, states: ir.NewStates(m.program), blocks: map[*ir.Block]int32{}, size: len(m.blocks)}
	for i := range m.blocks {
		if b := &m.blocks[i]; b.ir != nil {
			p.blocks[b.ir] = int32(i)
		}
	}
	m.mapped = p
	return p
}

// of returns the position of part `part` of the VM's instruction pc. The parts of a fused
// instruction are numbered from 0.
func (p *positionMap) of(pc, part int) position {
	n := p.m.blockNumber(pc)
	b := &p.m.blocks[n]
	if b.ir == nil {
		return position{int32(n), int32(pc - b.start)}
	}
	return position{int32(n), p.m.origin[pc] + int32(part)}
}

// ofCall returns the position of a call instruction whose call has not returned.
func (p *positionMap) ofCall(pc int) position {
	part := 0
	if p.m.code[pc].op == opSubIntKCall {
		part = 1
	}
	return p.of(pc, part)
}
