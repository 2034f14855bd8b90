package vm

import (
	"github.com/concerto-lang/concerto/ir"
)

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
