package lsp

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// isProgram reports whether a document contains Concerto code. A document that is no file is
// assumed to.
func isProgram(path string) bool { return filepath.Ext(path) == ".conc" || !filepath.IsAbs(path) }

// formatSplices returns the splices that format a text. ok is false if the text has syntax errors.
func formatSplices(name string, text []byte) (all []splice, ok bool) {
	out, found := format.Source(source.NewFile(name, text), 0)
	if found.HasErrors() {
		return nil, false
	}
	return splices(text, out), true
}

func formatDocument(c *call, p *protocol.DocumentFormattingParams) (protocol.List[protocol.TextEdit], error) {
	d := c.find(p.TextDocument.URI)
	if d == nil || !isProgram(d.path) {
		return nil, nil
	}
	all, _ := formatSplices(d.path, d.text)
	return d.lines().textEdits(all), nil
}

func formatRange(c *call, p *protocol.DocumentRangeFormattingParams) (protocol.List[protocol.TextEdit], error) {
	d := c.find(p.TextDocument.URI)
	if d == nil || !isProgram(d.path) {
		return nil, nil
	}
	r := p.Range
	if r.End.Line > r.Start.Line && r.End.Character == 0 {
		r.End.Line-- // an end at the start of a line excludes that line
	}
	return d.formatLines(int(r.Start.Line), int(r.End.Line)), nil
}

func formatOnType(c *call, p *protocol.DocumentOnTypeFormattingParams) (protocol.List[protocol.TextEdit], error) {
	d := c.find(p.TextDocument.URI)
	if d == nil || !isProgram(d.path) {
		return nil, nil
	}
	first := int(p.Position.Line)
	if p.Ch == "}" {
		first = d.openingLine(d.lines().offset(p.Position))
	}
	return d.formatLines(first, int(p.Position.Line)), nil
}

// openingLine returns the line of the opening brace that matches the closing brace before an
// offset.
func (d *document) openingLine(at int) int {
	depth := 0
	for i := at - 1; i >= 0; i-- {
		switch d.text[i] {
		case '}':
			depth++
		case '{':
			if depth--; depth <= 0 {
				return int(d.lines().position(i).Line)
			}
		}
	}
	return int(d.lines().position(at).Line)
}

// formatLines formats a range of lines. In a text with syntax errors, it formats only the
// declarations that contain the lines.
func (d *document) formatLines(first, last int) protocol.List[protocol.TextEdit] {
	l := d.lines()
	first, last = min(first, len(l.starts)-1), min(last, len(l.starts)-1)
	if last < first {
		return nil
	}
	all, ok := formatSplices(d.path, d.text)
	if !ok {
		all = d.formatPart(first, last)
	}
	from, to := source.Pos(max(0, l.starts[first]-1)), source.Pos(l.end(last))
	all = slices.DeleteFunc(all, func(s splice) bool { return s.End < from || s.Start > to || s.End == from && s.Start < from })
	return l.textEdits(all)
}

// formatPart returns the splices that format the declarations which contain the lines.
func (d *document) formatPart(first, last int) []splice {
	l := d.lines()
	for first > 0 && !l.isDeclarationStart(first) {
		first--
	}
	for last+1 < len(l.starts) && !l.isDeclarationStart(last+1) {
		last++
	}
	start, end := l.starts[first], l.end(last)
	part := bytes.TrimRight(d.text[start:end], " \t\r\n")
	all, _ := formatSplices(d.path, append(bytes.Clone(part), '\n'))
	for i := range all {
		all[i].Start, all[i].End = all[i].Start+source.Pos(start), all[i].End+source.Pos(start)
	}
	return slices.DeleteFunc(all, func(s splice) bool { return int(s.End) > start+len(part) })
}

// isDeclarationStart reports whether a line looks like the start of a declaration: it is not
// indented, and it follows an empty line, a closing brace, or a declaration on one line.
func (l *lines) isDeclarationStart(line int) bool {
	text := l.text[l.starts[line]:l.end(line)]
	if len(text) == 0 || isSpace(text[0]) || text[0] == '}' || text[0] == ')' || text[0] == ']' {
		return false
	}
	if line == 0 {
		return true
	}
	before := l.text[l.starts[line-1]:l.end(line-1)]
	trimmed := bytes.TrimSpace(before)
	if len(trimmed) == 0 || before[0] == '}' {
		return true
	}
	end := trimmed[len(trimmed)-1]
	return !isSpace(before[0]) && (end == '}' || end == ';')
}
