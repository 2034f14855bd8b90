package dap

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// itemTypes maps kinds of completion items to DAP types. Kinds that are not listed have no DAP
// type.
var itemTypes = map[analysis.ItemKind]dap.CompletionItemType{
	analysis.KeywordItem: "keyword", analysis.VariableItem: "variable", analysis.FunctionItem: "function", analysis.MethodItem: "method",
	analysis.FieldItem: "field", analysis.StructItem: "class", analysis.EnumItem: "enum", analysis.VariantItem: "enum",
	analysis.InterfaceItem: "interface", analysis.ConstItem: "value", analysis.ModuleItem: "module", analysis.AgentItem: "class",
	analysis.HostItem: "interface", analysis.ToolItem: "module", analysis.StoreItem: "value", analysis.PipelineItem: "module", analysis.FileItem: "file",
}

// completions answers with the completions of the console's text. They are computed as if the text
// were typed at the current position of the frame.
func (s *session) completions(r *dap.CompletionsRequest) {
	ctx := s.ctx
	s.withFrame(r, r.Arguments.FrameId, func(f *frameRef) {
		x := &dap.CompletionsResponse{Response: newResponse(r)}
		x.Body.Targets = []dap.CompletionItem{}
		units := utf16.Encode([]rune(r.Arguments.Text))
		n := min(max(r.Arguments.Column-s.colZero, 0), len(units))
		text := string(utf16.Decode(units[:n]))
		c, from := s.run.complete(ctx, f, text)
		for i := range c.Items {
			item := &c.Items[i]
			if len(item.Edits) > 0 || !strings.HasPrefix(item.Label, text[from:]) || strings.HasPrefix(item.Label, hiddenPrefix) {
				continue // the item needs an import, does not match the typed word, or is internal
			}
			x.Body.Targets = append(x.Body.Targets, dap.CompletionItem{
				Label: item.Label, Text: item.Text, Detail: item.Signature, Type: itemTypes[item.Kind], SortText: fmt.Sprintf("%04d", i),
				Start: len(utf16.Encode([]rune(text[:from]))) + s.colZero, Length: len(utf16.Encode([]rune(text[from:]))),
			})
		}
		s.send(x)
	})
}

// complete returns the completions at the end of a text in a frame, and the offset at which the
// completed word begins.
func (r *Run) complete(ctx context.Context, f *frameRef, text string) (c analysis.Completion, from int) {
	if f.Text == "" {
		return c, len(text) // the frame is in the library, which has no text in the editor
	}
	texts := r.debuggee.sources()
	lets, _ := r.debuggee.console.declarations(func(string) bool { return true })
	w := driver.Within{Request: r.s.program, Root: r.s.root, Texts: texts, File: f.File, Line: f.Line, Column: f.Column, Lets: lets, Text: text}
	p, ok := w.Placed()
	if !ok {
		return c, len(text)
	}
	work := analysis.New(analysis.Options{})
	for name, text := range texts {
		work.Open(w.Absolute(name), text)
	}
	path := w.Absolute(f.File)
	work.Open(path, p.File)
	c = work.Snapshot().Completion(ctx, path, source.Pos(p.At+len(text)))
	return c, min(max(int(c.Replace.Start)-p.At, 0), len(text))
}
