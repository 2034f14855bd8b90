package vm

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// Counting instructions. With Config.Count the loader puts an opCount before each instruction and
// fuses none. The counts show how often each sequence of instructions that could be fused was
// executed. They guide the choice of superinstructions (README.md).

// counter counts the executions of one instruction. room is the number of directly preceding
// instructions with which it could be fused.
type counter struct {
	op    ir.Op
	room  int
	times int64
}

// Run is a sequence of operations that one instruction could replace, and the number of its
// executions.
type Run struct {
	Ops   []ir.Op
	Times int64
}

func doCount(t *task, in *ins) status {
	t.m.image.counters[in.imm].times++
	return running
}

// count adds a counter for instruction i of a block. inside is the result of fusable.
func (m *loader) count(b *ir.Block, i int, inside []bool) {
	c := counter{op: b.Code[i].Op}
	if i > 0 && inside[i] && !ir.Shapes[b.Code[i-1].Op].Ends {
		c.room = m.counters[len(m.counters)-1].room + 1
	}
	m.emitIns(ins{op: opCount, imm: int32(len(m.counters))}, i)
	m.counters = append(m.counters, c)
}

// Runs returns the n sequences of operations that were executed most often, the most frequent
// first. all is the number of all executed operations. Runs returns nil and 0 without Config.Count.
func (m *VM) Runs(n int) (runs []Run, all int64) {
	index := map[string]int{}
	for i, c := range m.image.counters {
		all += c.times
		if c.room < n-1 || c.times == 0 {
			continue
		}
		var key []byte
		var ops []ir.Op
		for _, x := range m.image.counters[i-n+1 : i+1] {
			key = append(key, byte(x.op))
			ops = append(ops, x.op)
		}
		k, ok := index[string(key)]
		if !ok {
			k = len(runs)
			index[string(key)] = k
			runs = append(runs, Run{Ops: ops})
		}
		runs[k].Times += c.times
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return int(min(max(b.Times-a.Times, -1), 1)) })
	return runs, all
}
