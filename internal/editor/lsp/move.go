package lsp

import (
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// willRenameFiles returns the edits that preserve the meaning of programs when files are moved.
func willRenameFiles(c *call, p *protocol.RenameFilesParams) (*protocol.WorkspaceEdit, error) {
	var all []analysis.Move
	for _, f := range p.Files {
		from, to := pathOf(protocol.DocumentURI(f.OldURI)), pathOf(protocol.DocumentURI(f.NewURI))
		if analysis.IsFile(from) && analysis.IsFile(to) {
			all = append(all, analysis.Move{From: from, To: to})
		}
	}
	edits, err := c.snapshot.MoveEdits(c, all)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	return c.translation().workspaceEdit(groupByFile(edits)), nil
}
