package lsp

import (
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// hierarchyItem converts a function to a call hierarchy item. ok is false if the function is in no
// file.
func (t *translation) hierarchyItem(f *analysis.Function) (item protocol.CallHierarchyItem, ok bool) {
	at, ok := t.location(f.File, f.Span)
	return protocol.CallHierarchyItem{Name: f.Name, Kind: symbolKinds[f.Kind], URI: at.URI, Range: at.Range, SelectionRange: t.rng(f.File, f.NameSpan)}, ok
}

func prepareCallHierarchy(c *call, p *protocol.CallHierarchyPrepareParams) (protocol.List[protocol.CallHierarchyItem], error) {
	x := c.at(p.TextDocument.URI, p.Position)
	if f := c.snapshot.FunctionAt(c, x.path, x.pos); f != nil {
		if item, ok := x.hierarchyItem(f); ok {
			return protocol.List[protocol.CallHierarchyItem]{item}, nil
		}
	}
	return nil, c.Err()
}

// ranges converts spans of one file to ranges.
func (t *translation) ranges(f *source.File, all []source.Span) (out protocol.List[protocol.Range]) {
	for _, s := range all {
		out = append(out, t.rng(f, s))
	}
	return out
}

func incomingCalls(c *call, p *protocol.CallHierarchyIncomingCallsParams) (protocol.List[protocol.CallHierarchyIncomingCall], error) {
	x := c.at(p.Item.URI, p.Item.SelectionRange.Start)
	var out protocol.List[protocol.CallHierarchyIncomingCall]
	for _, y := range c.snapshot.Incoming(c, x.path, x.pos) {
		if item, ok := x.hierarchyItem(&y.Function); ok {
			out = append(out, protocol.CallHierarchyIncomingCall{From: item, FromRanges: x.ranges(y.Function.File, y.At)})
		}
	}
	return out, c.Err()
}

func outgoingCalls(c *call, p *protocol.CallHierarchyOutgoingCallsParams) (protocol.List[protocol.CallHierarchyOutgoingCall], error) {
	x := c.at(p.Item.URI, p.Item.SelectionRange.Start)
	if x.file == nil {
		return nil, nil
	}
	var out protocol.List[protocol.CallHierarchyOutgoingCall]
	for _, y := range c.snapshot.Outgoing(c, x.path, x.pos) {
		if item, ok := x.hierarchyItem(&y.Function); ok {
			out = append(out, protocol.CallHierarchyOutgoingCall{To: item, FromRanges: x.ranges(x.file, y.At)})
		}
	}
	return out, c.Err()
}
