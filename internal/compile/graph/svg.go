package graph

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Style is the style sheet of a drawing, for light and dark screens.
//
//go:embed style.css
var Style string

// xmlEscapes replaces the characters that XML reads as markup, and line breaks in attributes.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")

// attribute escapes the value of an attribute. The control characters that XML does not allow are
// escaped as in JSON.
func attribute(s string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return 0xFFFD
		}
		return r
	}, s))
}

// SVG returns the graph as an SVG document without scripts, fonts and references.
func (g *Graph) SVG() string { return g.svg("<style>\n" + Style + "</style>\n") }

// Drawing returns the graph as SVG for an HTML page that contains Style.
func (g *Graph) Drawing() string { return g.svg("") }

func (g *Graph) svg(style string) string {
	d := g.Layout()
	hasRun := slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Run != nil })
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="graph-title graph-text">`+"\n",
		d.Width, d.Height, d.Width, d.Height)
	fmt.Fprintf(&b, "<title id=\"graph-title\">Graph of %s</title>\n", attribute(shown(g.Program)))
	fmt.Fprintf(&b, "<desc id=\"graph-text\">%s</desc>\n", xmlText(g.Text()))
	b.WriteString(style)
	for i := range d.Lines {
		e, l := &g.Edges[i], &d.Lines[i]
		fmt.Fprintf(&b, `<g class="edge %s%s" data-from="%s" data-to="%s" data-kind="%s"`, e.Kind, stubClass(e), attribute(e.From), attribute(e.To), e.Kind)
		for _, m := range [][2]string{{"type", e.Type}, {"by", e.By}, {"at", e.At}} {
			if m[1] != "" {
				fmt.Fprintf(&b, ` data-%s="%s"`, m[0], attribute(m[1]))
			}
		}
		fmt.Fprintf(&b, `><path class="line" d="%s"/>`, l.Path)
		if l.Tip != "" {
			fmt.Fprintf(&b, `<path class="tip" d="%s"/>`, l.Tip)
		}
		l.Label.write(&b, "label")
		b.WriteString("</g>\n")
	}
	for i := range d.Boxes {
		n, x := &g.Nodes[i], &d.Boxes[i]
		unused := ""
		if n.Unused || hasRun && n.Run == nil && !slices.Contains(unnumbered, n.Kind) {
			unused = " unused"
		}
		fmt.Fprintf(&b, `<g class="node %s%s" data-id="%s"><title>%s</title>`, n.Kind, unused, attribute(n.ID), attribute(n.title()))
		class := "box"
		if x.Outlined {
			class = "area"
		}
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, class, x.X, x.Y, x.Width, x.Height, x.Radius)
		if x.Shape != "" {
			fmt.Fprintf(&b, `<path class="shape" d="%s"/>`, x.Shape)
		}
		x.Kind.write(&b, "kind")
		for _, t := range x.Name {
			t.write(&b, "name")
		}
		x.Run.write(&b, "run")
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// unnumbered contains the kinds of nodes that a run may use without numbers.
var unnumbered = []string{function, application}

// xmlText escapes a text that is not in an attribute. Its control characters, other than line
// breaks, are escaped already.
func xmlText(s string) string {
	return strings.ReplaceAll(attribute(s), "&#10;", "\n")
}

func stubClass(e *Edge) string {
	if e.isStub() {
		return " stub"
	}
	return ""
}

// title returns the kind, the name and the position of a node.
func (n *Node) title() string {
	if n.At == "" {
		return n.label()
	}
	return n.label() + ", " + shown(n.At)
}

// write writes a text element. No font can make the text wider than the drawing has room for.
func (t Text) write(b *strings.Builder, class string) {
	if t.Text == "" {
		return
	}
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`, class, t.X, t.Y, t.Width, xmlText(t.Text))
}
