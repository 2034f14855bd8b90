package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// shown escapes the control characters of a text as in JSON, so that it stays on one line.
func shown(s string) string {
	if !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !isControl(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// isControl reports whether a character moves the cursor, ends a line or changes the direction of
// the text.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// label returns the text of a node: its kind and its name.
func (n *Node) label() string { return n.Kind + " " + shown(n.Name) }

// caption returns the text of a node with the numbers of a run.
func (n *Node) caption() string {
	if n.Run == nil {
		return n.label()
	}
	return n.label() + ", " + n.Run.text()
}

// label returns the text of an edge: its kind, the message type, and how often a run took it.
func (e *Edge) label() string {
	label := e.Kind
	switch {
	case e.isStub():
		label = shown(e.Type) + ": unhandled"
	case e.Type != "":
		label += " " + shown(e.Type)
	}
	if e.Run != nil {
		label += fmt.Sprintf(" %d×", e.Run.Calls)
	}
	return label
}

// isStub reports whether the edge is a message that nothing answers.
func (e *Edge) isStub() bool { return e.Kind == unhandled && e.By == "none" }

// Text returns the graph as lines: each node, and below it the edges from it. Unhandled messages
// begin with "!".
func (g *Graph) Text() string {
	var b strings.Builder
	labels := map[string]string{}
	for i := range g.Nodes {
		labels[g.Nodes[i].ID] = g.Nodes[i].label()
	}
	out := map[string][]*Edge{}
	for i := range g.Edges {
		out[g.Edges[i].From] = append(out[g.Edges[i].From], &g.Edges[i])
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		b.WriteString(n.label())
		if n.At != "" {
			b.WriteString("  " + shown(n.At))
		}
		if n.Run != nil {
			b.WriteString("  " + n.Run.text())
		}
		b.WriteByte('\n')
		for _, e := range out[n.ID] {
			mark := "  "
			if e.Kind == unhandled {
				mark = "! "
			}
			what := e.Kind
			if e.Type != "" {
				what += " " + shown(e.Type)
			}
			fmt.Fprintf(&b, "%s%s  %s", mark, what, labels[e.To])
			if e.Run != nil {
				b.WriteString("  " + e.Run.text())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// MarshalJSON returns the JSON form of the graph (spec/38-graph.md), with one line for each node
// and each edge.
func (g *Graph) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var err error
	value := func(v any) {
		if e := enc.Encode(v); e != nil {
			err = e
		}
		b.Truncate(b.Len() - 1) // the encoder's line break
	}
	b.WriteString(`{"concerto_graph":1,"program":`)
	value(g.Program)
	b.WriteString(`,"nodes":[`)
	for i := range g.Nodes {
		b.WriteString(separator(i))
		value(&g.Nodes[i])
	}
	b.WriteString("],\n\"edges\":[")
	for i := range g.Edges {
		b.WriteString(separator(i))
		value(&g.Edges[i])
	}
	b.WriteString("]}")
	return b.Bytes(), err
}

func separator(i int) string {
	if i == 0 {
		return "\n"
	}
	return ",\n"
}

// mermaidEscapes replaces the characters that end a Mermaid string, or that Mermaid reads as
// markup. "#" begins an entity.
var mermaidEscapes = strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", `\`, "#92;")

// Mermaid returns the graph as a flowchart of Mermaid.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	numbers := map[string]int{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		numbers[n.ID] = i
		k := kindOf(n.Kind)
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i, k.Mermaid[0], mermaidEscapes.Replace(n.caption()), k.Mermaid[1])
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		arrow, label := "-->", e.label()
		if e.Kind == unhandled {
			arrow = "-.->"
		}
		if strings.ContainsFunc(label, needsQuotes) {
			label = `"` + mermaidEscapes.Replace(label) + `"`
		}
		fmt.Fprintf(&b, "  n%d %s|%s| n%d\n", numbers[e.From], arrow, label, numbers[e.To])
	}
	return b.String()
}

// needsQuotes reports whether Mermaid could read a character in a label as markup.
func needsQuotes(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != ' ' && r != '_'
}

// dotEscapes replaces the characters that end a string of Graphviz.
var dotEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

func dotString(s string) string { return `"` + dotEscapes.Replace(shown(s)) + `"` }

// Dot returns the graph in the language of Graphviz.
func (g *Graph) Dot() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n", dotString(g.Program))
	numbers := map[string]int{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		numbers[n.ID] = i
		fmt.Fprintf(&b, "  n%d [label=%s, %s];\n", i, dotString(n.caption()), kindOf(n.Kind).Dot)
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		style := ""
		switch {
		case e.isStub():
			style = ", style=dashed, color=red"
		case e.Kind == unhandled:
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  n%d -> n%d [label=%s%s];\n", numbers[e.From], numbers[e.To], dotString(e.label()), style)
	}
	b.WriteString("}\n")
	return b.String()
}
