package lsp

import (
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

var foldKinds = map[analysis.FoldKind]protocol.FoldingRangeKind{
	analysis.FoldCode: "", analysis.FoldImports: protocol.FoldingRangeKindImports, analysis.FoldComment: protocol.FoldingRangeKindComment,
}

// foldingRange returns the foldable ranges. For a client that folds only whole lines, the line of a
// closing bracket remains visible.
func foldingRange(c *call, p *protocol.FoldingRangeParams) (protocol.List[protocol.FoldingRange], error) {
	t, path := c.translation(), c.path(p.TextDocument.URI)
	file := c.snapshot.File(path)
	linesOnly := deref(deref(c.client.TextDocument).FoldingRange).LineFoldingOnly
	var out protocol.List[protocol.FoldingRange]
	for _, f := range c.snapshot.Folds(path) {
		r := t.rng(file, f.Span)
		x := protocol.FoldingRange{StartLine: r.Start.Line, StartCharacter: &r.Start.Character, EndLine: r.End.Line, EndCharacter: &r.End.Character, Kind: foldKinds[f.Kind]}
		if linesOnly {
			x.StartCharacter, x.EndCharacter = nil, nil
			if f.Kind == analysis.FoldCode {
				x.EndLine--
			}
		}
		if x.EndLine > x.StartLine {
			out = append(out, x)
		}
	}
	return out, nil
}

func selectionRange(c *call, p *protocol.SelectionRangeParams) (protocol.List[protocol.SelectionRange], error) {
	var out protocol.List[protocol.SelectionRange]
	for _, pos := range p.Positions {
		x := c.at(p.TextDocument.URI, pos)
		around := protocol.SelectionRange{Range: protocol.Range{Start: pos, End: pos}}
		if x.file != nil {
			spans := c.snapshot.Selections(x.path, x.pos)
			var outer *protocol.SelectionRange
			for i := len(spans) - 1; i >= 0; i-- {
				outer = &protocol.SelectionRange{Range: x.rng(x.file, spans[i]), Parent: outer}
			}
			around = *outer
		}
		out = append(out, around)
	}
	return out, nil
}

func documentLink(c *call, p *protocol.DocumentLinkParams) (protocol.List[protocol.DocumentLink], error) {
	t, path := c.translation(), c.path(p.TextDocument.URI)
	file := c.snapshot.File(path)
	var out protocol.List[protocol.DocumentLink]
	for _, l := range c.snapshot.Links(c, path) {
		x := protocol.DocumentLink{Range: t.rng(file, l.Span)}
		if l.Code != "" {
			x.Target, x.Tooltip = c.server.explanationURI(l.Code), "What "+l.Code+" means"
		} else {
			x.Target = c.uriOf(l.Path)
		}
		if x.Target != "" {
			out = append(out, x)
		}
	}
	return out, c.Err()
}
