// Package graphtest checks drawings of graphs by arithmetic. It reads the SVG document, not the
// layout that it comes from.
package graphtest

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/concerto-lang/concerto/internal/compile/graph"
)

// Apart is the smallest allowed distance between two boxes in pixels.
const Apart = 8

// Check checks the SVG document of a graph: it has each node and each edge once; boxes have a
// distance; texts are inside of their boxes, and as wide as they state; labels overlap no box and
// no other label; an edge begins at its first box, ends at its second, and touches no other; and
// all is inside of the document.
func Check(t testing.TB, g *graph.Graph) {
	t.Helper()
	d, err := read(g.SVG())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.nodes) != len(g.Nodes) || len(d.edges) != len(g.Edges) {
		t.Fatalf("the drawing has %d nodes and %d edges, want %d and %d", len(d.nodes), len(d.edges), len(g.Nodes), len(g.Edges))
	}
	whole := rect{0, 0, d.width, d.height}
	boxes := map[string]rect{}
	for i, n := range d.nodes {
		boxes[g.Nodes[i].ID] = n.box
		if !whole.contains(n.box) {
			t.Errorf("%s: box %v is outside of the document of %v", n.id, n.box, whole)
		}
		var name strings.Builder
		for _, x := range n.texts {
			if !n.box.contains(x.area()) {
				t.Errorf("%s: text %q at %v is outside of box %v", n.id, x.text, x.area(), n.box)
			}
			if x.class == "name" {
				name.WriteString(x.text)
			}
		}
		if shown := strings.Join(strings.Fields(g.Nodes[i].Name), ""); strings.Join(strings.Fields(name.String()), "") != shown && !hasControl(g.Nodes[i].Name) {
			t.Errorf("%s: the drawing shows the name %q", n.id, name.String())
		}
	}
	for i, a := range d.nodes {
		for _, b := range d.nodes[i+1:] {
			if a.box.grown(Apart - 1).overlaps(b.box) {
				t.Errorf("boxes %s %v and %s %v are less than %d pixels apart", a.id, a.box, b.id, b.box, Apart)
			}
		}
	}
	for i, e := range d.edges {
		from, to := boxes[g.Edges[i].From], boxes[g.Edges[i].To]
		name := fmt.Sprintf("edge %d %s %s %s", i, g.Edges[i].From, g.Edges[i].Kind, g.Edges[i].To)
		label := e.texts[0].area()
		if !whole.contains(label) {
			t.Errorf("%s: label %v is outside of the document", name, label)
		}
		for _, n := range d.nodes {
			if n.box.overlaps(label) {
				t.Errorf("%s: label %v overlaps box %s %v", name, label, n.id, n.box)
			}
			for _, p := range e.points {
				isOwn := n.box == from || n.box == to
				if n.box.has(p) && !(isOwn && n.box.onBorder(p)) {
					t.Errorf("%s: the line touches box %s %v at %v", name, n.id, n.box, p)
					break
				}
			}
		}
		for j, other := range d.edges[i+1:] {
			if label.overlaps(other.texts[0].area()) {
				t.Errorf("%s: label %v overlaps label %v of edge %d", name, label, other.texts[0].area(), i+1+j)
			}
		}
		first, last := e.points[0], e.points[len(e.points)-1]
		if !from.onBorder(first) {
			t.Errorf("%s: begins at %v, not at box %v", name, first, from)
		}
		isStub := g.Edges[i].Kind == "unhandled" && g.Edges[i].By == "none"
		if !isStub && !to.onBorder(last) {
			t.Errorf("%s: ends at %v, not at box %v", name, last, to)
		}
		if isStub && to.has(last) && from != to {
			t.Errorf("%s: a stub ends at another box", name)
		}
		for _, p := range e.points {
			if !whole.has(p) {
				t.Errorf("%s: point %v is outside of the document", name, p)
				break
			}
		}
	}
}

// hasControl reports whether a name contains characters that a drawing escapes or cannot contain.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == 0xFFFE || r == 0xFFFF
	})
}

type point struct{ x, y float64 }

type rect struct{ x, y, w, h float64 }

func (r rect) has(p point) bool {
	return p.x >= r.x && p.x <= r.x+r.w && p.y >= r.y && p.y <= r.y+r.h
}

func (r rect) onBorder(p point) bool {
	return r.has(p) && (p.x == r.x || p.x == r.x+r.w || p.y == r.y || p.y == r.y+r.h)
}

func (r rect) contains(o rect) bool {
	return r.has(point{o.x, o.y}) && r.has(point{o.x + o.w, o.y + o.h})
}

func (r rect) overlaps(o rect) bool {
	return r.x <= o.x+o.w && o.x <= r.x+r.w && r.y <= o.y+o.h && o.y <= r.y+r.h
}

func (r rect) grown(by float64) rect { return rect{r.x - by, r.y - by, r.w + 2*by, r.h + 2*by} }

type text struct {
	class, text   string
	x, y, w, size float64
}

// area returns the place of a text, from the top of its capital letters to below its baseline.
func (t text) area() rect { return rect{t.x, t.y - t.size*0.8, t.w, t.size} }

type part struct {
	id     string
	box    rect
	texts  []text
	points []point // of an edge's line
}

type document struct {
	width, height float64
	nodes, edges  []part
}

// read reads an SVG document.
func read(svg string) (*document, error) {
	d := &document{}
	dec := xml.NewDecoder(strings.NewReader(svg))
	var current *part
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range start.Attr {
			attr[a.Name.Local] = a.Value
		}
		num := func(name string) float64 {
			v, e := strconv.ParseFloat(attr[name], 64)
			if e != nil {
				err = fmt.Errorf("<%s %s=%q>: %w", start.Name.Local, name, attr[name], e)
			}
			return v
		}
		switch start.Name.Local {
		case "svg":
			d.width, d.height = num("width"), num("height")
		case "g":
			list := &d.edges
			if strings.HasPrefix(attr["class"], "node ") {
				list = &d.nodes
			}
			*list = append(*list, part{id: attr["data-id"]})
			current = &(*list)[len(*list)-1]
		case "rect":
			current.box = rect{num("x"), num("y"), num("width"), num("height")}
		case "path":
			if attr["class"] == "line" {
				current.points, err = points(attr["d"])
			}
		case "text":
			x := text{class: attr["class"], x: num("x"), y: num("y"), w: num("textLength"), size: 11}
			if x.class == "name" {
				x.size = 13
			}
			if attr["lengthAdjust"] != "spacingAndGlyphs" {
				err = fmt.Errorf("a text without lengthAdjust")
			}
			content, e := dec.Token()
			if chars, ok := content.(xml.CharData); e == nil && ok {
				x.text = string(chars)
			}
			current.texts = append(current.texts, x)
		}
		if attr["transform"] != "" {
			err = fmt.Errorf("<%s> has a transform", start.Name.Local)
		}
		if err != nil {
			return nil, err
		}
	}
}

var pathCommand = regexp.MustCompile(`([MLHVCZ])([^MLHVCZ]*)`)

// steps is the number of points of a curve that are checked.
const steps = 24

// points returns points of a path.
func points(path string) ([]point, error) {
	var out []point
	var at point
	for _, m := range pathCommand.FindAllStringSubmatch(path, -1) {
		var v []float64
		for _, f := range strings.Fields(m[2]) {
			x, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return nil, err
			}
			v = append(v, x)
		}
		want := map[string]int{"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Z": 0}[m[1]]
		if len(v) != want {
			return nil, fmt.Errorf("path %q: %s has %d numbers", path, m[1], len(v))
		}
		from := at
		curve := [4]point{from, from, from, from}
		switch m[1] {
		case "M":
			at = point{v[0], v[1]}
			out = append(out, at)
			continue
		case "L":
			at = point{v[0], v[1]}
		case "H":
			at.x = v[0]
		case "V":
			at.y = v[0]
		case "C":
			at = point{v[4], v[5]}
			curve[1], curve[2] = point{v[0], v[1]}, point{v[2], v[3]}
		}
		if curve[3] = at; m[1] != "C" {
			curve[2] = at
		}
		for i := 1; i <= steps; i++ {
			s := float64(i) / steps
			r := 1 - s
			b := [4]float64{r * r * r, 3 * r * r * s, 3 * r * s * s, s * s * s}
			var p point
			for k := range curve {
				p.x += b[k] * curve[k].x
				p.y += b[k] * curve[k].y
			}
			if i == steps {
				p = at
			}
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("empty path %q", path)
	}
	return out, nil
}
