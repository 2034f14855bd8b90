package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// unwind propagates t.raised from the preceding instruction outwards. It stops at a catch region,
// at the listen whose handler the error leaves, or at the end of the task. If it must close an
// exchange first, it parks the task, and the completion calls unwind again.
func (t *task) unwind() status {
	r := t.raised
	pc := t.pc()
	if r.trace.empty() {
		r.trace.few = r.first[:0]
		t.m.image.addCalls(&r.trace, pc, int(t.state.part))
		t.notifyRaised(r)
	}
	t.state.part = 0
	for {
		s := t.innermost()
		if s != nil && s.depth != t.depth() {
			s = nil // the listen belongs to an outer frame
		}
		if s == nil || s.pc != pc { // an error of the instruction ListenBegin itself is first handled by the listen, then by the regions around it
			if reg := t.m.image.blockAt(pc).regionAt(pc); reg != nil && !r.panicked && !r.cancelled {
				t.raised = nil
				r.value = distinct(r.value)
				t.storeCaught(r)
				*t.slot(reg.register) = r.value
				t.setPC(reg.target)
				return running
			}
		}
		if s != nil {
			// The frame contains a listen, and the error leaves the handler's block or the listen.
			st, on := t.unwindScope(s, r)
			if !on {
				return st
			}
			pc = t.pc()
			t.m.image.addCaller(&r.trace, pc)
			continue
		}
		fp, at := t.caller(t.fp)
		pc = at
		if pc == 0 { // the bottom frame has no caller
			t.ip = unsafe.Add(t.code, insSize)
			return finished
		}
		t.setPC(pc + 1)
		t.fp = fp
		t.m.image.addCaller(&r.trace, pc)
	}
}

func (t *task) innermost() *scope {
	if n := len(t.scopes); n > 0 {
		return t.scopes[n-1]
	}
	return nil
}

// region is an ir.Region with instruction numbers of the VM.
type region struct {
	from, to, target int
	register         uint8
}

// block is the body of a function or of a handler: a list of instructions and its regions.
type block struct {
	start   int
	fn      *function
	ir      *ir.Block // nil for the stub of a tool
	info    positions
	inlined []ir.Inlined
	regions []region
}

// regionAt returns the innermost region around pc.
func (b *block) regionAt(pc int) *region {
	for i := range b.regions {
		if r := &b.regions[i]; r.from <= pc && pc < r.to {
			return r
		}
	}
	return nil
}

// blockAt returns the block of an instruction.
func (m *image) blockAt(pc int) *block { return &m.blocks[m.blockNumber(pc)] }

func (m *image) blockNumber(pc int) int {
	lo, hi := 0, len(m.blocks)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; m.blocks[mid].start <= pc {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// asErr returns the error as an Err.
func (r *raised) asErr() value.Slot {
	value.Share(r.value)
	return value.Err(r.value)
}
