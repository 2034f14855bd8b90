package vm

import "github.com/concerto-lang/concerto/ir"

// A position identifies an instruction independently of how the code was loaded. block is the
// number of the block: functions are numbered in order, each followed by the blocks of its
// handlers, and the stubs of tools come last. at is the number of the IR instruction in the block.
// In a stub, which has no IR, at is the number of the VM's instruction.
type position struct{ block, at int32 }

// positionMap converts between positions and instructions of the VM, and contains the classes of
// registers. An image has one, which is created when a snapshot first needs it.
type positionMap struct {
	m      *image
	loaded [][]int32 // by block: number of the VM's instruction for each IR instruction; 0 if there is none
	states *ir.States
	blocks map[*ir.Block]int32 // number of the block, by its IR
	// classes contains, by block and instruction, the classes of the registers before each
	// instruction at which a frame may be. A function is analysed when the first of its frames is
	// encoded or decoded.
	classes []map[int32]ir.Classes
	walked  []bool // by function: it has been analysed
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

// find returns the VM's instruction at a position, and the number of its part. ok is false if there
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

// end returns the number of the instruction after a block.
func (p *positionMap) end(block int32) int {
	if int(block)+1 < len(p.m.blocks) {
		return p.m.blocks[block+1].start
	}
	return len(p.m.code)
}

// load returns, for each IR instruction of a block, the VM's instruction, and stores the list in
// loaded.
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

// mayWaitAt reports whether a frame may be at an instruction with operation op while its task
// waits.
func mayWaitAt(op ir.Op) bool {
	switch op {
	case ir.OpPerform, ir.OpAwaitEmit, ir.OpAwaitEmitAs, ir.OpListenBegin, ir.OpAwait, ir.OpJoinAll, ir.OpRace, ir.OpParallelFor:
		return true
	}
	return ir.Shapes[op].Frame
}

// classesAt returns the classes of the registers before an instruction at which a frame may be. It
// returns nil if the instruction is unreachable.
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
