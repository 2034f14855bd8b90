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

// Coverage: with Config.Cover the loader puts an opCover before the first instruction of each line
// and of each handler of the user's files, and fuses nothing.

// Point is a place whose coverage is recorded: a line of a user's file, or the start of a listen
// handler there.
type Point struct {
	File     string // path of the file, as in ir.Program.Files
	Line     int
	Function string
	Handler  string // message type of the handler; "" if the point is a line
	Hit      bool
}

// cover is the coverage of one loaded program. All VMs that Fresh creates from it share the
// coverage.
type cover struct {
	points []Point
	index  map[Point]int32
}

// Covered returns the points of the program. Hit is set in each point that this VM, or another VM
// created from it by Fresh, has reached. Covered returns nil without Config.Cover.
func (m *VM) Covered() []Point {
	if m.image.cover == nil {
		return nil
	}
	return m.image.cover.points
}

// coverBlock returns the numbers of the points before each instruction of a block. It returns nil
// if the block does not belong to a user's file or coverage is off.
func (m *loader) coverBlock(f *function, h *handler, b *ir.Block) map[int][]int32 {
	if m.cover == nil || f.info.File < 0 || f.info.File >= len(m.program.Files) || m.program.Files[f.info.File].Text == "" {
		return nil
	}
	at := map[int][]int32{}
	last := 0
	for _, p := range b.Positions {
		here := Point{File: m.program.Files[f.info.File].Name, Line: p.Line, Function: f.Name}
		if h != nil && !h.info.Implicit && last == 0 {
			entry := here
			entry.Handler = h.info.Type
			at[p.PC] = append(at[p.PC], m.cover.point(entry))
		}
		if p.Line != last {
			at[p.PC] = append(at[p.PC], m.cover.point(here))
		}
		last = p.Line
	}
	return at
}

// point returns the number of a point, which it adds if necessary.
func (c *cover) point(p Point) int32 {
	n, ok := c.index[p]
	if !ok {
		n = int32(len(c.points))
		c.points = append(c.points, p)
		c.index[p] = n
	}
	return n
}

func doCover(t *task, in *ins) status {
	t.m.image.cover.points[in.imm].Hit = true
	return running
}
