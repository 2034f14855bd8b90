package lsp

import (
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

func codeAction(c *call, p *protocol.CodeActionParams) (protocol.List[protocol.CodeAction], error) {
	path := c.path(p.TextDocument.URI)
	file := c.snapshot.File(path)
	if file == nil {
		return nil, nil
	}
	var only []string
	for _, k := range p.Context.Only {
		only = append(only, string(k))
	}
	t := c.translation()
	found, err := c.snapshot.Actions(c, path, t.lines(file).orderedSpan(p.Range), func(kind string) bool { return analysis.IncludesKind(only, kind) }, len(only) > 0)
	if err != nil {
		return nil, err
	}
	var out protocol.List[protocol.CodeAction]
	if analysis.IncludesKind(only, string(protocol.CodeActionKindQuickFix)) {
		reported, err := c.snapshot.DiagnosticsOf(c, path)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(reported, func(d *diag.Diagnostic) bool { return d.Info == diag.PackageLock || d.Info == diag.PackageUnusable })
		if at >= 0 {
			argument, err := json.Marshal(fileParams{URI: p.TextDocument.URI})
			if err != nil {
				return nil, err
			}
			const title = "Fetch the packages, and update concerto.lock"
			out = append(out, protocol.CodeAction{Title: title, Kind: protocol.CodeActionKindQuickFix, Diagnostics: []protocol.Diagnostic{t.diagnostic(reported[at])},
				Command: &protocol.Command{Title: title, Command: commandFetch, Arguments: []json.RawMessage{argument}}})
		}
	}
	for _, a := range found {
		x := protocol.CodeAction{Title: a.Title, Kind: protocol.CodeActionKind(a.Kind), IsPreferred: a.Preferred, Edit: t.workspaceEdit(groupByFile(a.Edits))}
		if x.Edit == nil {
			continue
		}
		if a.Mends != nil {
			x.Diagnostics = []protocol.Diagnostic{t.diagnostic(a.Mends)}
		}
		out = append(out, x)
	}
	return out, nil
}

// orderedSpan returns the range between the two ends of r, in either order.
func (l *lines) orderedSpan(r protocol.Range) source.Span {
	a, b := source.Pos(l.offset(r.Start)), source.Pos(l.offset(r.End))
	return source.Span{Start: min(a, b), End: max(a, b)}
}
