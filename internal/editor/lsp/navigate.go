package lsp

import (
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// place is a position in a document of the snapshot.
type place struct {
	*translation
	path string
	file *source.File // nil if the document does not exist
	pos  source.Pos
}

// at returns the place of a position in a document.
func (c *call) at(uri protocol.DocumentURI, p protocol.Position) place {
	t := c.translation()
	x := place{translation: t, path: c.path(uri)}
	if x.file = c.snapshot.File(x.path); x.file != nil {
		x.pos = source.Pos(t.lines(x.file).offset(p))
	}
	return x
}

func hover(c *call, p *protocol.HoverParams) (*protocol.Hover, error) {
	x := c.at(p.TextDocument.URI, p.Position)
	if x.file == nil {
		return nil, nil
	}
	h := c.snapshot.Hover(c, x.path, x.pos)
	if h == nil {
		return nil, c.Err()
	}
	r := x.rng(x.file, h.Span)
	return &protocol.Hover{Contents: markdown(h.Text), Range: &r}, nil
}

func markdown(text string) protocol.MarkupContent {
	return protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}
}

// locations converts locations to the protocol's form.
func (t *translation) locations(all []analysis.Location) protocol.List[protocol.Location] {
	var out protocol.List[protocol.Location]
	for _, l := range all {
		if at, ok := t.location(l.File, l.Span); ok {
			out = append(out, at)
		}
	}
	return out
}

func definition(c *call, p *protocol.DefinitionParams) (protocol.List[protocol.Location], error) {
	x := c.at(p.TextDocument.URI, p.Position)
	return x.locations(c.snapshot.Definition(c, x.path, x.pos)), c.Err()
}

func typeDefinition(c *call, p *protocol.TypeDefinitionParams) (protocol.List[protocol.Location], error) {
	x := c.at(p.TextDocument.URI, p.Position)
	return x.locations(c.snapshot.TypeDefinition(c, x.path, x.pos)), c.Err()
}

func references(c *call, p *protocol.ReferenceParams) (protocol.List[protocol.Location], error) {
	x := c.at(p.TextDocument.URI, p.Position)
	return x.locations(c.snapshot.References(c, x.path, x.pos, p.Context.IncludeDeclaration)), c.Err()
}

func documentHighlight(c *call, p *protocol.DocumentHighlightParams) (protocol.List[protocol.DocumentHighlight], error) {
	x := c.at(p.TextDocument.URI, p.Position)
	if x.file == nil {
		return nil, nil
	}
	var out protocol.List[protocol.DocumentHighlight]
	for _, h := range c.snapshot.Highlights(c, x.path, x.pos) {
		kind := protocol.DocumentHighlightKindRead
		if h.Write {
			kind = protocol.DocumentHighlightKindWrite
		}
		out = append(out, protocol.DocumentHighlight{Range: x.rng(x.file, h.Span), Kind: kind})
	}
	return out, c.Err()
}
