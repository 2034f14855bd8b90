package lsp

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// splice is the replacement of a range of bytes by a text.
type splice struct {
	source.Span
	text string
}

// splices returns the edits that change one text into another. The texts differ only in white
// space.
func splices(was, is []byte) []splice { return toSplices(repair.Splices(was, is)) }

func toSplices(edits []diag.Edit) (out []splice) {
	for _, e := range edits {
		out = append(out, splice{e.Span, e.Text})
	}
	return out
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// textEdits converts splices to edits in the protocol's form.
func (l *lines) textEdits(all []splice) protocol.List[protocol.TextEdit] {
	out := protocol.List[protocol.TextEdit]{}
	for _, s := range all {
		out = append(out, protocol.TextEdit{Range: l.rng(s.Span), NewText: s.text})
	}
	return out
}

// change contains the edits of one file.
type change struct {
	file    *source.File
	splices []splice
}

// workspaceEdit converts changes to the protocol's form, with the versions of open documents. It
// returns nil if a change creates a file and the client does not support that.
func (t *translation) workspaceEdit(all []*change) *protocol.WorkspaceEdit {
	out := &protocol.WorkspaceEdit{}
	can := deref(deref(t.client.Workspace).WorkspaceEdit)
	for _, c := range all {
		uri := t.uri(c.file)
		edits := t.lines(c.file).textEdits(c.splices)
		isNew := t.snapshot.File(t.snapshot.PathOf(c.file)) == nil
		if !can.DocumentChanges {
			if isNew {
				return nil
			}
			if out.Changes == nil {
				out.Changes = map[protocol.DocumentURI]protocol.List[protocol.TextEdit]{}
			}
			out.Changes[uri] = append(out.Changes[uri], edits...)
			continue
		}
		if isNew {
			if !slices.Contains(can.ResourceOperations, protocol.ResourceOperationKindCreate) {
				return nil
			}
			out.DocumentChanges = append(out.DocumentChanges, protocol.DocumentChange{CreateFile: &protocol.CreateFile{Kind: string(protocol.ResourceOperationKindCreate), URI: uri, Options: &protocol.CreateFileOptions{IgnoreIfExists: true}}})
			edits = slices.DeleteFunc(edits, func(e protocol.TextEdit) bool { return e.NewText == "" })
			if len(edits) == 0 {
				continue
			}
		}
		d := &protocol.TextDocumentEdit{TextDocument: protocol.OptionalVersionedTextDocumentIdentifier{URI: uri}}
		if open := t.docs[uri]; open != nil {
			d.TextDocument.Version = &open.version
		}
		for _, e := range edits {
			d.Edits = append(d.Edits, protocol.AnnotatedTextEdit{Range: e.Range, NewText: e.NewText})
		}
		out.DocumentChanges = append(out.DocumentChanges, protocol.DocumentChange{TextDocumentEdit: d})
	}
	return out
}
