package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Distances in pixels.
const (
	margin     = 16 // around the drawing
	apart      = 14 // between boxes, and between a box and an edge that passes it
	bend       = 30 // room for the curves on each side of the labels between two columns
	portRoom   = 8  // between the ends of two edges at a box
	labelRoom  = 18 // height of a label with its distance to the next
	lineHeight = 16 // of the lines of a name
	tipLength  = 8
)

// sweeps is the number of times that the order of the columns is improved.
const sweeps = 8

// straight is the weight of the position of a slot, compared with that of a box: long edges should
// be straight.
const straight = 1 << 16

// Drawing is a graph with the positions of its parts. All lengths are in pixels; y grows downward.
type Drawing struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Boxes  []Box  `json:"boxes"` // of the nodes, in their order
	Lines  []Line `json:"lines"` // of the edges, in their order
}

// Box is the place of a node.
type Box struct {
	X      int    `json:"x"`
	Y      int    `json:"y"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Kind   Text   `json:"kind"`
	Name   []Text `json:"name"`            // the lines of the name
	Run    Text   `json:"run,omitzero"`    // the numbers of a run
	Shape  string `json:"shape,omitempty"` // path of the shape, or of its inner lines; "" for a rectangle
	Radius int    `json:"radius,omitempty"`
	// Outlined means that Shape is the outline, instead of the rectangle.
	Outlined bool `json:"outlined,omitempty"`
}

// Line is the curve of an edge.
type Line struct {
	Path  string `json:"path"`          // in the syntax of SVG, with absolute coordinates
	Tip   string `json:"tip,omitempty"` // path of the arrow's head
	Label Text   `json:"label"`
}

// Text is a line of text. X is its left end and Y its baseline.
type Text struct {
	X     int    `json:"x"`
	Y     int    `json:"y"`
	Width int    `json:"width"`
	Text  string `json:"text"`
}

// Layout returns a drawing of the graph in layers from left to right. It computes with integers
// only, so that the result is the same on every machine.
//
// The layers, their order by barycenters and the slots of long edges follow K. Sugiyama, S. Tagawa,
// M. Toda: Methods for visual understanding of hierarchical system structures (1981). Labels are
// between the columns of boxes, one below the other, so no label overlaps a box or another label. A
// curve crosses a column only in its slot.
func (g *Graph) Layout() *Drawing {
	l := &layout{g: g, index: map[string]int{}}
	l.measure()
	l.connect()
	l.rank()
	l.fill()
	l.order()
	l.ports()
	l.align()
	l.settle()
	l.labels()
	return l.draw()
}

// layout is the state of a layout.
type layout struct {
	g       *Graph
	index   map[string]int // of the nodes, by id
	boxes   []*item        // of the nodes
	arcs    []*arc         // edges between two boxes
	loops   []*arc         // edges from a box to itself, and stubs
	columns [][]*item
	gaps    []gap // gap i is right of column i
	done    []int // the boxes, each before those to its right
	blocks  []block
}

// item is a box, or the slot of long edges in a column that they cross. The id of a slot is that of
// the box at which its edges end.
type item struct {
	id          string
	node        int // -1 for a slot
	layer, at   int // column, and position in it
	y, height   int
	left, right []*item // items next to it in the columns beside
	sum, count  int     // sum of the positions of those on one side, and their number
	leftPorts   []*port
	rightPorts  []*port
}

func (x *item) middle() int { return x.y + x.height/2 }

// port is the point at the side of an item at which edges end.
type port struct {
	next  *item // what it is connected to; nil for a loop or stub
	order int
	y     int
}

// arc is an edge in the direction from left to right.
type arc struct {
	edge     int
	from, to *item
	back     bool    // the edge leads from right to left
	stops    []*item // the items from from to to
	shared   int     // -1 if other edges share the slots and the end at from, 1 for the end at to, 0 for none
	gap      int     // column to the left of the label
	label    int     // height of the line at the label
	ends     []*port // at from and at to; a stub has no second one
}

// gap is the room between two columns.
type gap struct {
	x, width int // width of the labels
	labels   []*arc
}

// measure creates the boxes.
func (l *layout) measure() {
	for i := range l.g.Nodes {
		n := &l.g.Nodes[i]
		l.index[n.ID] = i
		height := 27 + lineHeight*len(wrap(shown(n.Name)))
		if n.Run != nil {
			height += lineHeight
		}
		l.boxes = append(l.boxes, &item{id: n.ID, node: i, height: height})
	}
}

// connect creates the arcs, and reverses edges until there is no cycle. It visits main first, then
// the nodes without a predecessor, so edges point away from them.
func (l *layout) connect() {
	out := make([][]int, len(l.boxes))
	entered := make([]bool, len(l.boxes))
	for i := range l.g.Edges {
		e := &l.g.Edges[i]
		from, to := l.index[e.From], l.index[e.To]
		if from == to || e.isStub() {
			l.loops = append(l.loops, &arc{edge: i, from: l.boxes[from], to: l.boxes[from]})
			continue
		}
		out[from] = append(out[from], i)
		entered[to] = true
	}
	const open, done = 1, 2
	state := make([]int, len(l.boxes))
	var visit func(n int)
	visit = func(n int) {
		state[n] = open
		for _, i := range out[n] {
			to := l.index[l.g.Edges[i].To]
			a := &arc{edge: i, from: l.boxes[n], to: l.boxes[to]}
			if state[to] == open {
				a.from, a.to, a.back = a.to, a.from, true
			}
			l.arcs = append(l.arcs, a)
			if state[to] == 0 {
				visit(to)
			}
		}
		state[n] = done
		l.done = append(l.done, n)
	}
	start := func(is func(n int) bool) {
		for n := range l.boxes {
			if state[n] == 0 && is(n) {
				visit(n)
			}
		}
	}
	start(func(n int) bool { return l.g.Nodes[n].ID == function+":main" })
	start(func(n int) bool { return !entered[n] })
	start(func(int) bool { return true })
	slices.Reverse(l.done)
	slices.SortFunc(l.arcs, func(a, b *arc) int { return a.edge - b.edge })
}

// rank puts each box into the column after the last of its predecessors.
func (l *layout) rank() {
	out := make([][]*arc, len(l.boxes))
	for _, a := range l.arcs {
		out[a.from.node] = append(out[a.from.node], a)
	}
	for _, n := range l.done {
		for _, a := range out[n] {
			a.to.layer = max(a.to.layer, a.from.layer+1)
		}
	}
}

// fill creates the columns with the slots of long edges. Long edges with the same end share their
// slots: those from or to the node at which more of them end.
func (l *layout) fill() {
	put := func(x *item) {
		for len(l.columns) <= x.layer {
			l.columns = append(l.columns, nil)
		}
		l.columns[x.layer] = append(l.columns[x.layer], x)
	}
	for _, x := range l.boxes {
		put(x)
	}
	type end struct {
		node  int
		left  bool // the node is left of the slots
		back  bool
		layer int
	}
	count := map[end]int{}
	for _, a := range l.arcs {
		if a.to.layer > a.from.layer+1 {
			count[end{a.from.node, true, a.back, 0}]++
			count[end{a.to.node, false, a.back, 0}]++
		}
	}
	slots := map[end]*item{}
	for _, a := range l.arcs {
		a.stops = append(a.stops, a.from)
		if a.to.layer > a.from.layer+1 {
			share := end{a.to.node, false, a.back, 0}
			a.shared = 1
			if other := (end{a.from.node, true, a.back, 0}); count[other] > count[share] {
				share, a.shared = other, -1
			}
			for layer := a.from.layer + 1; layer < a.to.layer; layer++ {
				share.layer = layer
				slot := slots[share]
				if slot == nil {
					slot = &item{id: l.g.Nodes[share.node].ID, node: -1, layer: layer}
					slots[share] = slot
					put(slot)
				}
				a.stops = append(a.stops, slot)
			}
		}
		a.stops = append(a.stops, a.to)
		for i, x := range a.stops[1:] {
			before := a.stops[i]
			if before.node < 0 && endsWith(before.right, x) || x.node < 0 && endsWith(x.left, before) {
				continue // another edge shares this part
			}
			before.right = append(before.right, x)
			x.left = append(x.left, before)
		}
		// The label is at the end that the edge does not share. If it shares none, it is at its
		// source.
		a.gap = a.from.layer
		if a.shared == -1 || a.shared == 0 && a.back {
			a.gap = a.to.layer - 1
		}
	}
}

func endsWith(list []*item, x *item) bool { return len(list) > 0 && list[len(list)-1] == x }

// order sorts each column by the mean position of the neighbours, to reduce crossings.
func (l *layout) order() {
	number := func(c []*item) {
		for i, x := range c {
			x.at = i
		}
	}
	for _, c := range l.columns {
		slices.SortStableFunc(c, func(a, b *item) int { return strings.Compare(a.id, b.id) })
		number(c)
	}
	for sweep := range sweeps {
		for i := range l.columns {
			c := l.columns[i]
			if sweep%2 == 1 {
				c = l.columns[len(l.columns)-1-i]
			}
			for _, x := range c {
				x.sum, x.count = x.at, 1
				if near := x.side(sweep%2 == 0); len(near) > 0 {
					x.sum, x.count = 0, len(near)
					for _, y := range near {
						x.sum += y.at
					}
				}
			}
			slices.SortStableFunc(c, func(a, b *item) int {
				return cmp.Or(cmp.Compare(a.sum*b.count, b.sum*a.count), strings.Compare(a.id, b.id))
			})
			number(c)
		}
	}
}

// side returns the neighbours in the column to the left or right.
func (x *item) side(left bool) []*item {
	if left {
		return x.left
	}
	return x.right
}

// align sets the heights of the items: as near to the mean of their neighbours as the order and the
// distances allow.
func (l *layout) align() {
	for _, c := range l.columns {
		y := 0
		for _, x := range c {
			x.y = y
			y += x.height + apart
		}
	}
	var wishes []wish
	for sweep := range sweeps {
		left := sweep%2 == 0
		for i := range l.columns {
			c := l.columns[i]
			if !left {
				c = l.columns[len(l.columns)-1-i]
			}
			wishes = slices.Grow(wishes[:0], len(c))[:len(c)]
			for i, x := range c {
				wishes[i] = wish{x.y, x.height, 1}
				if x.node < 0 {
					wishes[i].weight = straight
				}
				near := x.side(left)
				if x.node < 0 {
					for _, y := range near {
						if y.node < 0 {
							near = []*item{y} // the edge continues, so it should be straight
						}
					}
				}
				if len(near) > 0 {
					sum := 0
					for _, y := range near {
						sum += y.middle()
					}
					wishes[i].y = floorDiv(sum, len(near)) - x.height/2
				}
			}
			l.spread(wishes, apart)
			for i, x := range c {
				x.y = wishes[i].y
			}
		}
	}
}

// spread sets the positions of parts in their order, with a distance between them. It minimises the
// sum of the squared differences from the best positions, by weight and apart from rounding. This
// is an isotonic regression, which merging adjacent blocks solves (pool adjacent violators).
func (l *layout) spread(parts []wish, distance int) {
	blocks := l.blocks[:0]
	for i, p := range parts {
		b := block{i, 1, p.y * p.weight, p.weight, p.height, p.y}
		for len(blocks) > 0 {
			before := blocks[len(blocks)-1]
			offset := before.height + distance
			if before.y+offset <= b.y {
				break
			}
			b = block{before.first, before.n + b.n, before.sum + b.sum - offset*b.weight, before.weight + b.weight, offset + b.height, 0}
			b.y = floorDiv(2*b.sum+b.weight, 2*b.weight)
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		y := b.y
		for i := b.first; i < b.first+b.n; i++ {
			parts[i].y = y
			y += parts[i].height + distance
		}
	}
	l.blocks = blocks
}

// wish is the position that a part of a column should have, and how important that is.
type wish struct{ y, height, weight int }

// block is a number of adjacent parts without more than the distance between them. sum is the sum
// of the best positions of its first part, by weight.
type block struct{ first, n, sum, weight, height, y int }

// floorDiv divides and rounds down, also below zero. n is positive.
func floorDiv(sum, n int) int {
	q := sum / n
	if sum%n < 0 {
		q--
	}
	return q
}

// ports creates the points at which the edges end: one at each side of a box for all edges that
// share a slot there, and one for each other edge. A box with many of them becomes higher.
func (l *layout) ports() {
	type side struct {
		box   *item
		right bool
		slot  *item
	}
	shared := map[side]*port{}
	end := func(x, next *item, right, isShared bool, edge int) *port {
		key := side{x, right, next}
		if p := shared[key]; isShared && p != nil {
			return p
		}
		p := &port{next: next, order: edge}
		if isShared {
			shared[key] = p
		}
		if right {
			x.rightPorts = append(x.rightPorts, p)
		} else {
			x.leftPorts = append(x.leftPorts, p)
		}
		return p
	}
	for _, a := range l.arcs {
		last := len(a.stops) - 1
		a.ends = []*port{end(a.from, a.stops[1], true, a.shared == -1, a.edge), end(a.to, a.stops[last-1], false, a.shared == 1, a.edge)}
	}
	for _, a := range l.loops {
		a.gap = a.from.layer
		count := 1
		if !l.g.Edges[a.edge].isStub() {
			count = 2 // a loop also ends here
		}
		for range count {
			p := &port{order: a.edge}
			a.ends = append(a.ends, p)
			a.from.rightPorts = append(a.from.rightPorts, p)
		}
	}
	for _, x := range l.boxes {
		x.height = max(x.height, portRoom*(1+max(len(x.leftPorts), len(x.rightPorts))))
	}
}

// settle sets the heights of the ports. Loops and stubs are below the other edges.
func (l *layout) settle() {
	for _, x := range l.boxes {
		for _, side := range [][]*port{x.leftPorts, x.rightPorts} {
			slices.SortStableFunc(side, func(a, b *port) int {
				if a.next == nil || b.next == nil {
					return cmp.Or(boolInt(a.next == nil)-boolInt(b.next == nil), a.order-b.order)
				}
				return cmp.Or(a.next.middle()-b.next.middle(), a.order-b.order)
			})
			for i, p := range side {
				p.y = x.y + (i+1)*x.height/(len(side)+1)
			}
		}
	}
}

// heights returns the heights of an arc at the left and right side of the gap after stop i.
func (a *arc) heights(i int) (left, right int) {
	left, right = a.stops[i].y, a.stops[i+1].y
	if i == 0 {
		left = a.ends[0].y
	}
	if i == len(a.stops)-2 {
		right = a.ends[1].y
	}
	return left, right
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// labels sets the heights of the labels, and the width of the gaps.
func (l *layout) labels() {
	l.gaps = make([]gap, len(l.columns))
	for _, a := range slices.Concat(l.arcs, l.loops) {
		g := &l.gaps[a.gap]
		g.labels = append(g.labels, a)
		g.width = max(g.width, textWidth(l.g.Edges[a.edge].label(), smallSize))
		a.label = a.ends[0].y
		if a.stops != nil {
			left, right := a.heights(a.gap - a.from.layer)
			a.label = floorDiv(left+right, 2)
		}
	}
	for i := range l.gaps {
		labels := l.gaps[i].labels
		slices.SortStableFunc(labels, func(a, b *arc) int { return cmp.Or(a.label-b.label, a.edge-b.edge) })
		wishes := make([]wish, len(labels))
		for i, a := range labels {
			wishes[i] = wish{a.label, 0, 1}
		}
		l.spread(wishes, labelRoom)
		for i, a := range labels {
			a.label = wishes[i].y
		}
	}
}

// draw sets the coordinates.
func (l *layout) draw() *Drawing {
	top, bottom := 0, 0
	for i, x := range l.boxes {
		if i == 0 {
			top, bottom = x.y, x.y+x.height
		}
		top, bottom = min(top, x.y), max(bottom, x.y+x.height)
	}
	for _, a := range slices.Concat(l.arcs, l.loops) {
		top, bottom = min(top, a.label-labelRoom), max(bottom, a.label+labelRoom)
		for _, x := range a.stops {
			top, bottom = min(top, x.y), max(bottom, x.y)
		}
	}
	up := top - margin
	d := &Drawing{Height: bottom - up + margin, Boxes: make([]Box, len(l.boxes)), Lines: make([]Line, len(l.g.Edges))}
	x := margin
	starts, ends := make([]int, len(l.columns)), make([]int, len(l.columns)) // of the columns
	for i, c := range l.columns {
		starts[i] = x
		x += l.place(d, c, x, up)
		ends[i] = x
		l.gaps[i].x = x + bend
		if i < len(l.columns)-1 || len(l.gaps[i].labels) > 0 {
			x += bend + l.gaps[i].width + bend
		}
	}
	d.Width = x + margin
	for _, a := range l.arcs {
		l.curve(d, a, starts, ends, up)
	}
	for _, a := range l.loops {
		l.loop(d, a, ends[a.gap], up)
	}
	return d
}

// place sets the boxes of a column, and returns its width.
func (l *layout) place(d *Drawing, c []*item, x, up int) int {
	wide := 0
	for _, it := range c {
		if it.node < 0 {
			continue
		}
		n := &l.g.Nodes[it.node]
		b := &d.Boxes[it.node]
		inset := kindOf(n.Kind).shape.inset()
		b.X, b.Y, b.Height = x, it.y-up, it.height
		b.Kind = Text{X: x + inset, Y: b.Y + 18, Width: textWidth(n.Kind, smallSize), Text: n.Kind}
		b.Width = b.Kind.Width
		for i, line := range wrap(shown(n.Name)) {
			t := Text{X: x + inset, Y: b.Y + 34 + i*lineHeight, Width: textWidth(line, nameSize), Text: line}
			b.Name = append(b.Name, t)
			b.Width = max(b.Width, t.Width)
		}
		if text := n.Run.text(); text != "" {
			last := b.Name[len(b.Name)-1]
			b.Run = Text{X: last.X, Y: last.Y + lineHeight, Width: textWidth(text, smallSize), Text: text}
			b.Width = max(b.Width, b.Run.Width)
		}
		b.Width += 2 * inset
		wide = max(wide, b.Width)
	}
	for _, it := range c {
		if it.node < 0 {
			continue
		}
		b := &d.Boxes[it.node]
		b.Width = wide
		s := &kindOf(l.g.Nodes[it.node].Kind).shape
		b.Shape = s.path(b.X, b.Y, b.Width, b.Height)
		b.Radius, b.Outlined = min(s.radius, b.Height/2), s.outline != nil
	}
	return wide
}

// point is a point of a drawing.
type point struct{ x, y int }

// curve draws an arc.
func (l *layout) curve(d *Drawing, a *arc, starts, ends []int, up int) {
	var points []point
	for i := range a.stops[1:] {
		layer := a.from.layer + i
		left, right := a.heights(i)
		left, right = left-up, right-up
		points = append(points, point{ends[layer], left})
		if layer == a.gap {
			g := &l.gaps[layer]
			points = append(points, point{g.x, a.label - up}, point{g.x + g.width, a.label - up})
		}
		points = append(points, point{starts[layer+1], right})
	}
	if a.back {
		slices.Reverse(points)
	}
	d.Lines[a.edge] = Line{Path: path(points), Tip: tip(points[len(points)-1], a.back), Label: l.label(a, up)}
}

// label places the label of an arc above its line, in the middle of the gap.
func (l *layout) label(a *arc, up int) Text {
	g := &l.gaps[a.gap]
	text := l.g.Edges[a.edge].label()
	wide := textWidth(text, smallSize)
	return Text{X: g.x + (g.width-wide)/2, Y: a.label - up - 3, Width: wide, Text: text}
}

// loop draws an edge from a box to itself, or the stub of a message that nothing answers.
func (l *layout) loop(d *Drawing, a *arc, x, up int) {
	g := &l.gaps[a.gap]
	label := a.label - up
	points := []point{{x, a.ends[0].y - up}, {g.x, label}, {g.x + g.width, label}}
	line := Line{Label: l.label(a, up)}
	if len(a.ends) > 1 {
		points = append(points, point{g.x + g.width, label + 4}, point{g.x, label + 4}, point{x, a.ends[1].y - up})
		line.Path, line.Tip = path(points), tip(points[len(points)-1], true)
	} else {
		line.Path = path(points) + fmt.Sprintf("M%d %dV%d", g.x+g.width, label-5, label+5)
	}
	d.Lines[a.edge] = line
}

// path returns a path through points: curves that are horizontal at their ends, and straight lines
// between points of the same height or the same x.
func path(points []point) string {
	var b strings.Builder
	at := points[0]
	fmt.Fprintf(&b, "M%d %d", at.x, at.y)
	for i, p := range points[1:] {
		switch {
		case p.y == at.y:
			if last := i == len(points)-2; !last && points[i+2].y == at.y {
				continue // the next line is its continuation
			}
			fmt.Fprintf(&b, "H%d", p.x)
		case p.x == at.x:
			fmt.Fprintf(&b, "V%d", p.y)
		default:
			half := (at.x + p.x) / 2
			fmt.Fprintf(&b, "C%d %d %d %d %d %d", half, at.y, half, p.y, p.x, p.y)
		}
		at = p
	}
	return b.String()
}

// tip returns the path of an arrow's head that ends at a point.
func tip(at point, pointsLeft bool) string {
	back := at.x - tipLength
	if pointsLeft {
		back = at.x + tipLength
	}
	return fmt.Sprintf("M%d %dL%d %dL%d %dZ", at.x, at.y, back, at.y-4, back, at.y+4)
}
