package arch

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

//go:generate go run ./gen ../../docs/packages.svg

// The sizes of the parts of the picture, in SVG units.
const (
	boxHeight = 24
	rowHeight = 74
	letter    = 7.2 // width of a character
	gap       = 14  // distance between two boxes
	margin    = 24
	label     = 86 // width of the column with the names of the layers
)

// box is a package in the picture.
type box struct {
	pkg         string
	imports     []*box // direct imports that no other import implies
	level       int    // row of the box; 0 is the lowest row
	x, width, y float64
}

// middle returns the x coordinate at which arrows meet the box.
func (b *box) middle() float64 { return b.x + b.width/2 }

// Picture draws the packages of the policy as an SVG. Each layer is a band. Each package is in a
// row above all its imports and has an arrow to each direct import, so all arrows point down. An
// import that another import implies has no arrow, but the tooltip of a package lists all its
// imports. The picture omits generators, and packages for tests and benchmarks.
func Picture() string {
	levels := byLevel(boxes())
	for range 40 {
		orderLevels(levels)
	}
	width := placeBoxes(levels)
	var s strings.Builder
	height := float64(len(levels))*rowHeight + 2*margin - (rowHeight - boxHeight)
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace, monospace" font-size="12">
<title>The packages, and what each imports</title>
<!-- written from internal/arch/arch.go by "make arch"; do not edit -->
<style>
  svg { background: #fff }
  rect { fill: #f4f1ea; stroke: #8a8272; rx: 4px }
  .internal { fill: #fff }
  text { fill: #222; text-anchor: middle }
  .band { fill: #efe9da; stroke: none; rx: 0 }
  .layer { text-anchor: start; font-weight: bold }
  path { fill: none; stroke: #b0a890; stroke-width: 1 }
  g:hover path { stroke: #c0392b; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181d }
    rect { fill: #2a2d35; stroke: #6d7280 }
    .internal { fill: #1d2027 }
    text { fill: #e6e6e6 }
    .band { fill: #1b1e25 }
    path { stroke: #4d525e }
  }
</style>
`, width, height)
	drawBands(&s, levels, width)
	for _, level := range levels {
		for _, b := range level {
			b.draw(&s)
		}
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// drawBands writes the background and the name of each layer.
func drawBands(s *strings.Builder, levels [][]*box, width float64) {
	for first := 0; first < len(levels); {
		layer, next := LayerOf(levels[first][0].pkg), first+1
		for next < len(levels) && LayerOf(levels[next][0].pkg) == layer {
			next++
		}
		const above = (rowHeight - boxHeight) / 3
		y := margin + float64(first)*rowHeight - above
		fmt.Fprintf(s, "<g><title>%s</title><rect class=\"band\" x=\"4\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n", html.EscapeString(Layers[layer].Holds),
			y, width-8, float64(next-first)*rowHeight-(rowHeight-boxHeight)+2*above)
		fmt.Fprintf(s, "<text class=\"layer\" x=\"12\" y=\"%.0f\">%s</text></g>\n", y+above+16, Layers[layer].Name)
		first = next
	}
}

// isDrawn reports whether the picture contains a package.
func isDrawn(r Rule) bool {
	return !r.Tests && r.Package != "bench" && !strings.HasPrefix(r.Package, "bench/") &&
		!strings.HasSuffix(r.Package, "/gen") && LayerOf(r.Package) < len(Layers)
}

// boxes returns a box for each drawn package, layer by layer, in the order of the policy.
func boxes() []*box {
	var all []*box
	byName := map[string]*box{}
	reach := map[*box]map[*box]bool{} // direct and indirect imports of each box
	rules := slices.DeleteFunc(slices.Clone(Policy), func(r Rule) bool { return !isDrawn(r) })
	slices.SortStableFunc(rules, func(a, b Rule) int { return LayerOf(a.Package) - LayerOf(b.Package) })
	layer, lowest, highest := 0, 0, 0 // layer of the previous box, lowest row of that layer, highest row in use
	for _, r := range rules {
		if l := LayerOf(r.Package); l != layer {
			layer, lowest = l, highest+1
		}
		b := &box{pkg: r.Package, level: lowest, width: letter*float64(len(name(r.Package))) + 16}
		far := map[*box]bool{}
		reach[b] = far
		var direct []*box
		for _, p := range strings.Fields(r.Imports) {
			to := byName[p]
			if to == nil {
				continue
			}
			direct = append(direct, to)
			b.level = max(b.level, to.level+1)
			for f := range reach[to] {
				far[f] = true
			}
		}
		for _, to := range direct {
			if !far[to] {
				b.imports = append(b.imports, to)
			}
		}
		for _, to := range direct {
			far[to] = true
		}
		highest = max(highest, b.level)
		byName[r.Package] = b
		all = append(all, b)
	}
	return all
}

// name returns the label of a package.
func name(pkg string) string {
	if pkg == "." {
		return "concerto"
	}
	if below, ok := strings.CutPrefix(pkg, "internal/"); ok {
		pkg = below
		if _, inLayer, ok := strings.Cut(below, "/"); ok {
			pkg = inLayer // the band already shows the layer
		}
	}
	return pkg
}

// byLevel groups boxes by level, the highest first.
func byLevel(all []*box) [][]*box {
	top := 0
	for _, b := range all {
		top = max(top, b.level)
	}
	levels := make([][]*box, top+1)
	for _, b := range all {
		levels[top-b.level] = append(levels[top-b.level], b)
	}
	return levels
}

// orderLevels orders the boxes of each level by the positions of their neighbours, once downwards
// and once upwards. This removes most crossings (the barycenter method of Sugiyama, Tagawa and
// Toda, 1981).
func orderLevels(levels [][]*box) {
	importers := map[*box][]*box{}
	for _, level := range levels {
		for _, b := range level {
			for _, to := range b.imports {
				importers[to] = append(importers[to], b)
			}
		}
	}
	placeBoxes(levels)
	for _, level := range levels {
		sortBy(level, func(b *box) []*box { return importers[b] })
	}
	placeBoxes(levels)
	for _, level := range slices.Backward(levels) {
		sortBy(level, func(b *box) []*box { return b.imports })
	}
}

// sortBy orders a level by the average position of each box's neighbours.
func sortBy(level []*box, neighbours func(*box) []*box) {
	at := map[*box]float64{}
	for _, b := range level {
		at[b] = b.middle()
		if near := neighbours(b); len(near) > 0 {
			sum := 0.0
			for _, n := range near {
				sum += n.middle()
			}
			at[b] = sum / float64(len(near))
		}
	}
	slices.SortStableFunc(level, func(a, b *box) int {
		switch {
		case at[a] < at[b]:
			return -1
		case at[a] > at[b]:
			return 1
		}
		return 0
	})
}

// placeBoxes sets the coordinates of every box. It spreads each level over the width of the widest
// one, and returns the picture's width.
func placeBoxes(levels [][]*box) float64 {
	widest := 0.0
	total := func(level []*box) float64 {
		sum := 0.0
		for _, b := range level {
			sum += b.width
		}
		return sum
	}
	for _, level := range levels {
		widest = max(widest, total(level)+gap*float64(len(level)-1))
	}
	for i, level := range levels {
		space := (widest - total(level)) / float64(len(level)+1)
		if len(level) > 1 {
			space = min(space, 90)
		}
		x := margin + label + (widest-total(level)-space*float64(len(level)-1))/2
		for _, b := range level {
			b.x, b.y = x, margin+float64(i)*rowHeight
			x += b.width + space
		}
	}
	return widest + 2*margin + label
}

// draw writes a box and its arrows, which a hovering pointer highlights.
func (b *box) draw(s *strings.Builder) {
	i := slices.IndexFunc(Policy, func(r Rule) bool { return r.Package == b.pkg })
	class := ""
	if strings.HasPrefix(b.pkg, "internal/") {
		class = ` class="internal"`
	}
	fmt.Fprintf(s, "<g><title>%s</title>\n", html.EscapeString(b.pkg+" imports: "+strings.Join(strings.Fields(Policy[i].Imports), ", ")))
	var arrows strings.Builder
	for _, to := range b.imports {
		x, y, tx, ty := b.middle(), b.y+boxHeight, to.middle(), to.y
		bend := (ty - y) / 2
		fmt.Fprintf(&arrows, "M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x, y, x, y+bend, tx, ty-bend, tx, ty)
	}
	if arrows.Len() > 0 {
		fmt.Fprintf(s, "<path d=\"%s\"/>\n", arrows.String())
	}
	fmt.Fprintf(s, "<rect%s x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%d\"/>\n", class, b.x, b.y, b.width, boxHeight)
	fmt.Fprintf(s, "<text x=\"%.0f\" y=\"%.0f\">%s</text></g>\n", b.middle(), b.y+16, html.EscapeString(name(b.pkg)))
}
