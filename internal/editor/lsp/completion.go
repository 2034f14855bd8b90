package lsp

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/source"
)

var itemKinds = map[analysis.ItemKind]protocol.CompletionItemKind{
	analysis.KeywordItem:   protocol.CompletionItemKindKeyword,
	analysis.VariableItem:  protocol.CompletionItemKindVariable,
	analysis.FunctionItem:  protocol.CompletionItemKindFunction,
	analysis.MethodItem:    protocol.CompletionItemKindMethod,
	analysis.FieldItem:     protocol.CompletionItemKindField,
	analysis.StructItem:    protocol.CompletionItemKindStruct,
	analysis.EnumItem:      protocol.CompletionItemKindEnum,
	analysis.VariantItem:   protocol.CompletionItemKindEnumMember,
	analysis.InterfaceItem: protocol.CompletionItemKindInterface,
	analysis.TypeParamItem: protocol.CompletionItemKindTypeParameter,
	analysis.ConstItem:     protocol.CompletionItemKindConstant,
	analysis.ModuleItem:    protocol.CompletionItemKindModule,
	analysis.AgentItem:     protocol.CompletionItemKindClass,
	analysis.HostItem:      protocol.CompletionItemKindInterface,
	analysis.ToolItem:      protocol.CompletionItemKindModule,
	analysis.StoreItem:     protocol.CompletionItemKindVariable,
	analysis.PipelineItem:  protocol.CompletionItemKindModule,
	analysis.SettingItem:   protocol.CompletionItemKindProperty,
	analysis.MessageItem:   protocol.CompletionItemKindEvent,
	analysis.DecoratorItem: protocol.CompletionItemKindKeyword,
	analysis.ReferenceItem: protocol.CompletionItemKindReference,
	analysis.FileItem:      protocol.CompletionItemKindFile,
}

// completions stores the last lists of completions that the client received. The client may resolve
// items of these lists.
type completions struct {
	number int
	lists  map[int]*sentCompletion
}

// sentCompletion is a list of completions that the client received.
type sentCompletion struct {
	items []analysis.Item
	with  *translation
}

// maxCompletions is the number of stored lists.
const maxCompletions = 4

// store stores a list and returns its number.
func (k *completions) store(c *sentCompletion) int {
	if k.lists == nil {
		k.lists = map[int]*sentCompletion{}
	}
	k.number++
	k.lists[k.number] = c
	delete(k.lists, k.number-maxCompletions)
	return k.number
}

// itemData identifies an item in a stored list.
type itemData struct {
	List int `json:"list"`
	Item int `json:"item"`
}

func completion(c *call, p *protocol.CompletionParams) (*protocol.CompletionList, error) {
	x := c.at(p.TextDocument.URI, p.Position)
	if x.file == nil {
		return &protocol.CompletionList{}, nil
	}
	found := c.snapshot.Completion(c, x.path, x.pos)
	if err := c.Err(); err != nil {
		return nil, err
	}
	number := 0
	c.runInLoop(func() { number = c.loop.completions.store(&sentCompletion{found.Items, x.translation}) })
	whole := x.rng(x.file, found.Replace)
	edit := protocol.InsertReplaceEdit{Insert: protocol.Range{Start: whole.Start, End: p.Position}, Replace: whole}
	if x.pos < found.Replace.Start || x.pos > found.Replace.End {
		edit.Insert = whole
	}
	out := &protocol.CompletionList{}
	for i := range found.Items {
		item := c.completionItem(&found.Items[i], edit)
		if isQuoted(x.file, found.Replace) {
			item.FilterText = `"` + item.Label
		}
		item.SortText = fmt.Sprintf("%05d", i)
		item.Data = jsonwrite.MustEncode(itemData{number, i})
		if !c.client.resolvesEdits() {
			item.AdditionalTextEdits = x.additionalEdits(&found.Items[i])
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// isQuoted reports whether a range begins with a quote. Clients compare the quote with the typed
// text.
func isQuoted(f *source.File, s source.Span) bool {
	return int(s.Start) < len(f.Text) && s.Start < s.End && f.Text[s.Start] == '"'
}

// resolvesEdits reports whether the client resolves additional edits when an item is selected.
func (c *client) resolvesEdits() bool {
	r := deref(deref(deref(c.TextDocument).Completion).CompletionItem).ResolveSupport
	return r == nil || slices.Contains(r.Properties, "additionalTextEdits")
}

// completionItem returns an item without the properties that are resolved later.
func (c *call) completionItem(x *analysis.Item, at protocol.InsertReplaceEdit) protocol.CompletionItem {
	can := deref(deref(deref(c.client.TextDocument).Completion).CompletionItem)
	item := protocol.CompletionItem{Label: x.Label, Kind: itemKinds[x.Kind], Preselect: x.Preselect}
	if x.Signature != "" || x.Origin != "" {
		item.LabelDetails = &protocol.CompletionItemLabelDetails{Detail: x.Signature, Description: x.Origin}
	}
	at.NewText = x.Text
	if x.Snippet != "" && can.SnippetSupport && c.settings.Completion.Snippets {
		at.NewText, item.InsertTextFormat = x.Snippet, protocol.InsertTextFormatSnippet
	}
	item.TextEdit = at
	if !can.InsertReplaceSupport {
		item.TextEdit = protocol.TextEdit{Range: at.Replace, NewText: at.NewText}
	}
	return item
}

// additionalEdits returns the edits of an item outside of the replaced range.
func (t *translation) additionalEdits(x *analysis.Item) (out []protocol.TextEdit) {
	for _, e := range x.Edits {
		out = append(out, protocol.TextEdit{Range: t.rng(e.File, e.Span), NewText: e.Text})
	}
	return out
}

// resolveItem adds documentation to an item, and the edits that import its name.
func resolveItem(c *call, item *protocol.CompletionItem) (*protocol.CompletionItem, error) {
	var at itemData
	if err := json.Unmarshal(item.Data, &at); err != nil {
		return item, nil //nolint:nilerr // the item is not from this server
	}
	var list *sentCompletion
	c.runInLoop(func() { list = c.loop.completions.lists[at.List] })
	if list == nil || at.Item < 0 || at.Item >= len(list.items) {
		return item, nil
	}
	x := &list.items[at.Item]
	if text := x.Doc(); text != "" {
		doc := markdown(text)
		item.Documentation = &doc
	}
	item.AdditionalTextEdits = list.with.additionalEdits(x)
	return item, nil
}

func signatureHelp(c *call, p *protocol.SignatureHelpParams) (*protocol.SignatureHelp, error) {
	x := c.at(p.TextDocument.URI, p.Position)
	if x.file == nil {
		return nil, nil
	}
	s := c.snapshot.Signature(c, x.path, x.pos)
	if s == nil {
		return nil, c.Err()
	}
	label := newLines([]byte(s.Label), c.enc)
	one := protocol.SignatureInformation{Label: s.Label}
	for _, at := range s.Params {
		r := label.rng(at)
		one.Parameters = append(one.Parameters, protocol.ParameterInformation{Label: [2]uint32{r.Start.Character, r.End.Character}})
	}
	if s.Doc != "" {
		doc := markdown(s.Doc)
		one.Documentation = &doc
	}
	active := uint32(len(s.Params)) // no active parameter
	if s.Active >= 0 {
		active = uint32(s.Active)
	}
	return &protocol.SignatureHelp{Signatures: []protocol.SignatureInformation{one}, ActiveSignature: new(uint32), ActiveParameter: &active}, nil
}
