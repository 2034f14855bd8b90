package lsp

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// refusal returns the error response for a request that cannot be performed.
func refusal(why error) *Error { return newError(codeRequestFailed, "%v", why) }

func prepareRename(c *call, p *protocol.PrepareRenameParams) (*protocol.PrepareRenamePlaceholder, error) {
	x := c.at(p.TextDocument.URI, p.Position)
	if x.file == nil {
		return nil, nil
	}
	at, name, err := c.snapshot.PrepareRename(c, x.path, x.pos)
	switch {
	case c.Err() != nil:
		return nil, c.Err()
	case err != nil:
		return nil, refusal(err)
	}
	return &protocol.PrepareRenamePlaceholder{Range: x.rng(x.file, at), Placeholder: name}, nil
}

func rename(c *call, p *protocol.RenameParams) (*protocol.WorkspaceEdit, error) {
	x := c.at(p.TextDocument.URI, p.Position)
	if x.file == nil {
		return nil, nil
	}
	r, err := c.snapshot.Rename(c, x.path, x.pos, p.NewName)
	switch {
	case c.Err() != nil:
		return nil, c.Err()
	case err != nil:
		return nil, refusal(err)
	}
	edit := x.workspaceEdit(groupByFile(r.Edits))
	if r.Warning != "" && deref(c.client.Workspace).WorkspaceEdit != nil && c.client.Workspace.WorkspaceEdit.ChangeAnnotationSupport != nil {
		annotate(edit, r.Warning)
	}
	return edit, nil
}

// annotate adds an annotation to all edits, so that the client asks the user for confirmation.
func annotate(edit *protocol.WorkspaceEdit, warning string) {
	const id = "seen-outside"
	edit.ChangeAnnotations = map[string]protocol.ChangeAnnotation{id: {Label: warning, NeedsConfirmation: true, Description: warning}}
	for i := range edit.DocumentChanges {
		for j := range edit.DocumentChanges[i].Edits {
			edit.DocumentChanges[i].Edits[j].AnnotationID = id
		}
	}
}

// groupByFile groups edits by file.
func groupByFile(edits []analysis.Edit) (out []*change) {
	for _, e := range edits {
		i := slices.IndexFunc(out, func(c *change) bool { return c.file == e.File })
		if i < 0 {
			i = len(out)
			out = append(out, &change{file: e.File})
		}
		out[i].splices = append(out[i].splices, splice{e.Span, e.Text})
	}
	for _, c := range out {
		slices.SortStableFunc(c.splices, func(a, b splice) int { return cmp.Compare(a.Start, b.Start) })
	}
	return out
}

func implementation(c *call, p *protocol.ImplementationParams) (protocol.List[protocol.Location], error) {
	x := c.at(p.TextDocument.URI, p.Position)
	return x.locations(c.snapshot.Implementations(c, x.path, x.pos)), c.Err()
}

// inlayData identifies an inlay hint of the server when the client resolves the hint.
type inlayData struct {
	At   protocol.Position `json:"at"`
	Text string            `json:"text"`
}

func inlayHint(c *call, p *protocol.InlayHintParams) (protocol.List[protocol.InlayHint], error) {
	x := c.at(p.TextDocument.URI, p.Range.Start)
	if x.file == nil {
		return nil, nil
	}
	shown := map[analysis.InlayKind]bool{analysis.TypeInlay: c.settings.InlayHints.Types, analysis.ParameterInlay: c.settings.InlayHints.Parameters, analysis.LeaveInlay: c.settings.InlayHints.Leaves}
	var out protocol.List[protocol.InlayHint]
	for _, i := range c.snapshot.Inlays(c, x.path, x.lines(x.file).orderedSpan(p.Range)) {
		if !shown[i.Kind] {
			continue
		}
		at := x.lines(x.file).position(int(i.At))
		h := protocol.InlayHint{Position: at, Label: i.Text, Kind: protocol.InlayHintKindType}
		switch i.Kind {
		case analysis.ParameterInlay:
			h.Kind, h.PaddingRight = protocol.InlayHintKindParameter, true
		case analysis.LeaveInlay:
			h.Kind, h.PaddingLeft = 0, true
		}
		if i.Written != "" {
			h.Data = jsonwrite.MustEncode(inlayData{at, i.Written})
		}
		out = append(out, h)
	}
	return out, c.Err()
}

// resolveInlay adds to a hint the edit that inserts its text into the document.
func resolveInlay(_ *call, h *protocol.InlayHint) (*protocol.InlayHint, error) {
	var d inlayData
	if isNull(h.Data) {
		return h, nil
	}
	if err := json.Unmarshal(h.Data, &d); err != nil {
		return h, nil //nolint:nilerr // the hint is not from this server
	}
	h.TextEdits = []protocol.TextEdit{{Range: protocol.Range{Start: d.At, End: d.At}, NewText: d.Text}}
	return h, nil
}
