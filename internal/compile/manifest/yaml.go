package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/internal/text/yamlcore"
)

// broken replaces a value with a reported error, so that no further diagnostics are reported for
// it.
type broken struct{}

// yaml decodes the text of the file and finds the positions of its values. If the text contains no
// mapping, it reports the error and returns false.
func (r *reader) yaml() (*node, map[string]any, bool) {
	text := r.file.Text
	if at := utf8cut.Invalid(text); at >= 0 {
		r.add(diag.ToolSyntax.At(source.Span{Start: source.Pos(at), End: source.Pos(at + 1)}, "invalid UTF-8: byte 0x%02x", text[at]).Hint("save the file as UTF-8"))
		return nil, nil, false
	}
	skipped := 0
	if bytes.HasPrefix(text, []byte(bom)) {
		skipped = len(bom)
	}
	y := &yamlReader{r: r, lines: yamlLines(text, skipped)}
	doc, ok := y.document(yaml.NewDecoder(bytes.NewReader(text[skipped:])))
	if !ok {
		return nil, nil, false
	}
	n, v := y.value(doc)
	values, ok := v.(map[string]any)
	if _, reported := v.(broken); !ok && !reported {
		r.add(diag.ToolSyntax.At(n.value, "expected a mapping, found %s", r.typeOf(v)).Hint("start with `tools:`, and write a list below it"))
	}
	return n, values, ok
}

// yamlReader converts the nodes of a YAML document in the order of the text.
type yamlReader struct {
	r     *reader
	lines []int // offsets of the lines, as YAML counts lines
	line  int   // line of the last position, from 1
	col   int   // column of the last position in code points, from 1
	at    int   // offset of the last position
}

// yamlLines returns the offsets of the lines. YAML has more line separators than package source.
func yamlLines(text []byte, from int) []int {
	lines := []int{from}
	for i := from; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		i += size
		switch c {
		case '\r':
			if i < len(text) && text[i] == '\n' {
				continue
			}
			lines = append(lines, i)
		case '\n', '\u0085', '\u2028', '\u2029':
			lines = append(lines, i)
		}
	}
	return lines
}

// offset converts a position in YAML's lines and columns to an offset. It continues from the
// previous position if possible. Positions are mostly in increasing order, so a long line is
// scanned only once.
func (y *yamlReader) offset(line, col int) int {
	text := y.r.file.Text
	line = min(max(line, 1), len(y.lines))
	if line != y.line || col < y.col {
		y.line, y.col, y.at = line, 1, y.lines[line-1]
	}
	for ; y.col < col && y.at < len(text); y.col++ {
		_, size := utf8.DecodeRune(text[y.at:])
		y.at += size
	}
	return y.at
}

// document reads the single document of the text.
func (y *yamlReader) document(d *yaml.Decoder) (*yaml.Node, bool) {
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		y.r.add(diag.ToolSyntax.At(source.Span{}, "the file is empty").Hint("start with `tools:`, and write a list below it"))
		return nil, false
	case err != nil:
		y.syntax(err)
		return nil, false
	}
	switch err := d.Decode(&more); {
	case err == nil:
		at := source.Pos(y.offset(more.Line, more.Column))
		y.r.add(diag.ToolSyntax.At(source.Span{Start: at, End: at}, "a tool file can contain only one document").Hint("write separate files, and pass each with `--host-tools`"))
	case !errors.Is(err, io.EOF):
		y.syntax(err)
	}
	if len(doc.Content) != 1 {
		return nil, false
	}
	return doc.Content[0], true
}

// syntax reports an error of the YAML decoder at its position.
func (y *yamlReader) syntax(err error) {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		y.r.add(diag.ToolSyntax.At(source.Span{}, "%s", strings.TrimPrefix(err.Error(), "yaml: ")).Hint("the file must be YAML 1.2"))
		return
	}
	at := source.Pos(y.offset(e.Mark.Line, e.Mark.Column))
	d := diag.ToolSyntax.At(source.Span{Start: at, End: at}, "%s", e.Message)
	switch {
	case strings.Contains(e.Message, "mapping values are not allowed"):
		d.Hint("indent the keys of a mapping equally, and put text that contains `: ` in quotes")
	case strings.Contains(e.Message, "cannot start any token"):
		d.Hint("indent with spaces instead of tabs, and put text that starts with %%, @ or ` in quotes")
	default:
		d.Hint("the file must be YAML 1.2")
	}
	if c := e.ContextMark; c.Line > 0 && c.Line != e.Mark.Line {
		from := source.Pos(y.offset(c.Line, c.Column))
		d.Label(source.Span{Start: from, End: from}, "%s", e.ContextMsg)
	}
	y.r.add(d)
}

// value reads one value.
func (y *yamlReader) value(n *yaml.Node) (*node, any) {
	start := y.offset(n.Line, n.Column)
	out := &node{value: source.Span{Start: source.Pos(start), End: source.Pos(y.end(n, start))}}
	out.key = out.value
	if y.reportHidden(n, out) {
		return out, broken{}
	}
	var v any
	switch n.Kind {
	case yaml.MappingNode:
		v = y.mapping(n, out)
	case yaml.SequenceNode:
		out.kind = array
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			element, x := y.value(c)
			out.add(element)
			list = append(list, x)
		}
		v = list
	default:
		return out, yamlcore.Scalar(n)
	}
	if last := len(out.children) - 1; last >= 0 {
		out.value.End = max(out.value.End, out.children[last].value.End)
	}
	return out, v
}

// reportHidden reports YAML features that a file of tools must not use, such as anchors, aliases
// and tags: with them, the text of a value does not show its content.
func (y *yamlReader) reportHidden(n *yaml.Node, at *node) bool {
	what := ""
	switch {
	case n.Kind == yaml.AliasNode:
		what = "an alias (`*" + n.Value + "`)"
	case n.Anchor != "":
		what = "an anchor (`&" + n.Anchor + "`)"
	case n.Style&yaml.TaggedStyle != 0:
		what = "a tag (`" + y.r.file.Slice(y.word(at.value.Start)) + "`)"
	default:
		return false
	}
	y.r.add(diag.ToolHidden.At(y.word(at.value.Start), "%s is not allowed in a tool file", what).
		Hint("write the value itself here, or put the text in quotes"))
	return n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0
}

// word returns the span from a position to the next white space or end of a value.
func (y *yamlReader) word(at source.Pos) source.Span {
	return source.Span{Start: at, End: at + source.Pos(bareWord(y.r.file.Text[at:]))}
}

// mapping reads the members of a mapping.
func (y *yamlReader) mapping(n *yaml.Node, out *node) any {
	out.kind = table
	values := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		key, name := y.value(k)
		c, v := y.value(n.Content[i+1])
		c.key = key.value
		if k.Kind == yaml.ScalarNode {
			c.name = k.Value
		}
		_, reported := name.(broken)
		switch first := out.child(c.name); {
		case reported:
		case k.Kind != yaml.ScalarNode:
			y.r.add(diag.ToolType.At(c.key, "expected a string as a key, found %s", y.r.typeOf(name)).Hint("write `key: value`"))
		case k.Value == "<<" && k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0:
			y.r.add(diag.ToolHidden.At(c.key, "a merge key (`<<`) is not allowed in a tool file").Hint("write its keys here"))
		case first != nil:
			y.r.add(diag.ToolKeyTwice.At(c.key, "duplicate key `%s`", c.name).Label(first.key, "the first one").
				WithFixes(removeLinesFix(y.r.file, c)...).Hint("keep one of them"))
		default:
			out.add(c)
			values[c.name] = v
		}
	}
	return values
}

// end returns the end of the value that starts at start. For a text on several lines it is the end
// of the first line. Mappings and lists end with their last element.
func (y *yamlReader) end(n *yaml.Node, start int) int {
	rest := y.r.file.Text[start:]
	switch {
	case n.Kind != yaml.ScalarNode:
		return start + min(1, len(rest))
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return start + quoted(rest, '\\', '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return start + quoted(rest, '\'', '\'')
	case bytes.HasPrefix(rest, []byte(n.Value)):
		return start + len(n.Value)
	}
	return start + lineLength(rest)
}

// quoted returns the length of a quoted text, or of its first line.
func quoted(text []byte, escape, quote byte) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch {
		case text[i] == escape && (escape != quote || i+1 < len(text) && text[i+1] == quote):
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return lineLength(text)
}

func lineLength(text []byte) int {
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// tooLong returns the message for a file of tools that is too long.
func tooLong(size int) string {
	return fmt.Sprintf("the file has %d bytes, but a tool file can have at most %d", size, MaxToolFile)
}
