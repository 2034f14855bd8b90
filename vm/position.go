package vm

import "github.com/concerto-lang/concerto/ir"

// A position is a place in the code that does not depend on how the code was loaded: a block, by
// its number in the order of the functions, each followed by the blocks of its handlers, and the
// stubs of tools after them; and the instruction of the IR in it. Within a stub, which has no IR,
// it is the VM's own instruction.
type position struct{ block, at int32 }

// positionMap maps both ways, and contains the classes of registers. It is created for one image,
// when a snapshot first needs it.
type positionMap struct {
	m      *image
	loaded [][]int32 // by block: the VM's instruction for each of the IR, 0 for none
	states *ir.States
	blocks map[*ir.Block]int32 // by their IR
	// classes are those before instructions at which a frame may be, by block and instruction. A
	// function is analysed when one of its frames is first met.
	classes []map[int32]ir.Classes
	walked  []bool // by function
}

func (m *image) positionMap() *positionMap {
	if m.mapped != nil {
		return m.mapped
	}
	p := &positionMap{m: m, loaded: make([][]int32, len(m.blocks)), states: ir.NewStates(m.program), blocks: map[*ir.Block]int32{},
		classes: make([]map[int32]ir.Classes, len(m.blocks)), walked: make([]bool, len(m.functions))}
	for i := range m.blocks {
		if b := &m.blocks[i]; b.ir != nil {
			p.blocks[b.ir] = int32(i)
		}
	}
	m.mapped = p
	return p
}

// of returns the position of an instruction of the VM. A part of a fused instruction counts from
// its first.
func (p *positionMap) of(pc, part int) position {
	n := p.m.blockNumber(pc)
	b := &p.m.blocks[n]
	if b.ir == nil {
		return position{int32(n), int32(pc - b.start)}
	}
	return position{int32(n), p.m.origin[pc] + int32(part)}
}

// ofCall returns the position of a call that a frame waits for.
func (p *positionMap) ofCall(pc int) position {
	part := 0
	if p.m.code[pc].op == opSubIntKCall {
		part = 1
	}
	return p.of(pc, part)
}

// find returns the instruction of the VM at a position, and which part of it; ok is false if there
// is none.
func (p *positionMap) find(x position) (pc, part int, ok bool) {
	if x.block < 1 || int(x.block) >= len(p.m.blocks) || x.at < 0 {
		return 0, 0, false
	}
	b := &p.m.blocks[x.block]
	if b.ir == nil {
		pc = b.start + int(x.at)
		return pc, 0, pc < p.end(x.block)
	}
	all := p.load(x.block)
	if int(x.at) >= len(all) {
		return 0, 0, false
	}
	at := x.at
	for at > 0 && all[at] == 0 {
		at--
	}
	if pc = int(all[at]); pc == 0 {
		return 0, 0, false
	}
	return pc, int(x.at - p.m.origin[pc]), true
}

// end returns the end of the code of a block.
func (p *positionMap) end(block int32) int {
	if int(block)+1 < len(p.m.blocks) {
		return p.m.blocks[block+1].start
	}
	return len(p.m.code)
}

// load finds the instructions of a block.
func (p *positionMap) load(block int32) []int32 {
	if p.loaded[block] != nil {
		return p.loaded[block]
	}
	b := &p.m.blocks[block]
	all := make([]int32, len(b.ir.Code))
	for pc := b.start; pc < p.end(block); pc++ {
		at := p.m.origin[pc]
		switch op := p.m.code[pc].op; op {
		case opEnter, opTrap, opCover, opMark, opStep, opStop, opCount, opCase:
			continue
		case opSubIntKCall:
			all[at+1] = int32(pc)
		}
		if all[at] == 0 {
			all[at] = int32(pc)
		}
	}
	p.loaded[block] = all
	return all
}

// mayWaitAt reports whether a frame may be at an instruction while its task waits.
func mayWaitAt(op ir.Op) bool {
	switch op {
	case ir.OpPerform, ir.OpAwaitEmit, ir.OpAwaitEmitAs, ir.OpListenBegin, ir.OpAwait, ir.OpJoinAll, ir.OpRace, ir.OpParallelFor:
		return true
	}
	return ir.Shapes[op].Frame
}

// classesAt returns the classes of the registers before an instruction at which a frame may be; nil
// if control never reaches it.
func (p *positionMap) classesAt(x position) ir.Classes {
	fn := p.m.blocks[x.block].fn
	if n := fn.number; !p.walked[n] {
		p.walked[n] = true
		p.states.Walk(n, func(b *ir.Block, pc int, c ir.Classes) {
			if !mayWaitAt(b.Code[pc].Op) {
				return
			}
			block := p.blocks[b]
			if p.classes[block] == nil {
				p.classes[block] = map[int32]ir.Classes{}
			}
			p.classes[block][int32(pc)] = append(p.classes[block][int32(pc)][:0], c...)
		})
	}
	return p.classes[x.block][x.at]
}
