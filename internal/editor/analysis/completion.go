package analysis

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// ItemKind is the kind of a completion item.
type ItemKind uint8

// The values of ItemKind.
const (
	KeywordItem ItemKind = iota
	VariableItem
	FunctionItem
	MethodItem
	FieldItem
	StructItem
	EnumItem
	VariantItem
	InterfaceItem
	TypeParamItem
	ConstItem
	ModuleItem
	AgentItem
	HostItem
	ToolItem
	StoreItem
	PipelineItem
	SettingItem
	MessageItem
	DecoratorItem
	ReferenceItem // a name that the manifest declares
	FileItem
)

// Item is a completion item.
type Item struct {
	Label     string // name without arguments or import
	Kind      ItemKind
	Signature string // signature of a function, or type of any other item; "" for none
	Origin    string // module or type that declares the item, if it is not declared in this file
	Text      string // the text to insert
	Snippet   string // Text with placeholders, as in `f($0)`; "" if Text has none
	Edits     []Edit // additional edits, such as an import
	Preselect bool   // it is the only item of the expected type

	order int
	fits  bool // it has the expected type
	doc   func() string
}

// Doc returns the documentation of the item as Markdown, or "".
func (i *Item) Doc() string {
	if i.doc == nil {
		return ""
	}
	return i.doc()
}

// Completion is the list of completions at a position.
type Completion struct {
	Replace source.Span // range of the word at the cursor, which begins with the typed text
	Items   []Item      // the most likely items first
}

// completer computes the completions at the cursor.
type completer struct {
	*checkedFile
	pos   source.Pos
	word  source.Span   // word at the cursor
	toks  []lexer.Token // tokens before the word
	nodes []ast.Node    // nodes that contain the cursor, the outermost first
	items []Item
	seen  map[string]bool

	want   types.Type // the expected type; nil if unknown
	values []string   // all valid contents of the string at the cursor, if there are only a few
}

// completionContext is a kind of cursor position. applies tests for it and offer adds its items.
// Only the first context that applies is used.
type completionContext struct {
	name    string
	applies func(c *completer) bool
	offer   func(c *completer)
}

// completionContexts lists the kinds of cursor positions in the order in which they are tested.
var completionContexts = []completionContext{
	{"label", (*completer).atLabel, (*completer).addLabels},
	{"message", (*completer).inMessage, (*completer).addMessages},
	{"value", (*completer).inValue, (*completer).addTexts},
	{"nothing", (*completer).inCommentOrLiteral, func(*completer) {}},
	{"decorator", func(c *completer) bool { return c.kindBefore(1) == lexer.At }, (*completer).addDecorators},
	{"argument", (*completer).atDecoratorArgument, (*completer).addDecoratorArguments},
	{"member", func(c *completer) bool { return c.kindBefore(1) == lexer.Dot }, (*completer).addMembers},
	{"path", func(c *completer) bool {
		return c.kindBefore(1) == lexer.PathSep || c.inUse() && c.kindBefore(1) == lexer.LBrace
	}, (*completer).addPathMembers},
	{"import", (*completer).inUse, (*completer).addImports},
	{"module", func(c *completer) bool { return c.kindBefore(1) == lexer.Mod }, (*completer).addModuleFiles},
	{"connection", (*completer).atConnection, (*completer).addConnections},
	{"connector", func(c *completer) bool { return c.atSetting("connector") }, (*completer).addConnectors},
	{"text", (*completer).atText, (*completer).addQuotedTexts},
	{"retry", (*completer).atRetryKey, (*completer).addRetryKeys},
	{"tool", (*completer).atTools, (*completer).addTools},
	{"mock", (*completer).atMocked, (*completer).addMockable},
	{"name", (*completer).atNewName, func(*completer) {}},
	{"setting", (*completer).atKey, (*completer).addSettings},
	{"field", (*completer).atField, (*completer).addFields},
	{"arm", (*completer).atArm, (*completer).addArms},
	{"handler", (*completer).atHandler, (*completer).addMessages},
	{"method", (*completer).atMethod, (*completer).addMissingMethods},
	{"type", (*completer).atType, (*completer).addTypes},
	{"declaration", func(c *completer) bool { return c.enclosingFunction() == nil && c.atDecl() }, (*completer).addDeclarations},
	{"expression", func(*completer) bool { return true }, (*completer).addExpressions},
}

// Completion returns the completions at a position.
func (s *Snapshot) Completion(ctx context.Context, path string, pos source.Pos) Completion {
	f := s.checkFile(ctx, path)
	if f == nil {
		return s.completeManifest(path, pos)
	}
	c := f.completer(pos)
	for _, x := range completionContexts {
		if x.applies(c) {
			x.offer(c)
			break
		}
	}
	c.sortItems()
	if c.items == nil {
		c.items = []Item{}
	}
	return Completion{c.word, c.items}
}

// sortItems puts items of the expected type first and then sorts by distance and name. If exactly
// one item has the expected type, it is preselected.
func (c *completer) sortItems() {
	slices.SortStableFunc(c.items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(fitRank(a), fitRank(b)), cmp.Compare(a.order, b.order), cmp.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), cmp.Compare(a.Label, b.Label))
	})
	if n := len(c.items); n == 1 || n > 1 && c.items[0].fits && !c.items[1].fits {
		c.items[0].Preselect = true
	}
}

func fitRank(i Item) int {
	if i.fits {
		return 0
	}
	return 1
}

// markFitting records whether the item that was added last has the expected type.
func (c *completer) markFitting(fits bool) {
	if n := len(c.items); n > 0 && fits {
		c.items[n-1].fits = true
	}
}

func (f *checkedFile) completer(pos source.Pos) *completer {
	pos = clamp(f.text.file, pos)
	text := f.text.file.Text
	c := &completer{checkedFile: f, pos: pos, seen: map[string]bool{}, word: source.Span{Start: pos, End: pos}}
	for c.word.Start > 0 && isWordByte(text[c.word.Start-1]) {
		c.word.Start--
	}
	for int(c.word.End) < len(text) && isWordByte(text[c.word.End]) {
		c.word.End++
	}
	all, _, _ := lexer.Lex(f.text.file)
	for _, t := range all {
		if t.End > c.word.Start || t.Kind == lexer.EOF {
			break
		}
		c.toks = append(c.toks, t)
	}
	c.nodes = f.nodesAt(c.word.Start)
	if n := len(c.toks); n > 0 { // placeholders for missing code are directly after the previous token
		after := f.nodesAt(c.toks[n-1].End)
		if k := len(after); k > 0 && (isHole(after[k-1]) || len(c.nodes) < k && isOpenLiteral(after[k-1], c) || len(c.nodes) < k && f.hasUnclosedFunction(after, c.word.Start)) {
			c.nodes = after
		}
	}
	return c
}

// isOpenLiteral reports whether a node is a literal or a pattern of a struct whose fields may
// continue at the cursor, although the lines after the cursor belong to other code.
func isOpenLiteral(n ast.Node, c *completer) bool {
	switch n.(type) {
	case *ast.StructLit, *ast.StructPat:
		return c.atRowStart()
	}
	return false
}

// hasUnclosedFunction reports whether one of the nodes is a function whose body has no closing
// brace and extends to pos.
func (f *checkedFile) hasUnclosedFunction(nodes []ast.Node, pos source.Pos) bool {
	return slices.ContainsFunc(nodes, func(n ast.Node) bool {
		fn, ok := n.(*ast.FnDecl)
		return ok && f.isUnclosed(fn.Body, pos)
	})
}

// isUnclosed reports whether a block has no closing brace and extends to pos.
func (f *checkedFile) isUnclosed(b *ast.Block, pos source.Pos) bool {
	return b != nil && f.tree.IsFlawed(b) && b.Sp.End <= pos && strings.TrimSpace(f.text.file.Slice(source.Span{Start: b.Sp.End, End: pos})) == ""
}

// isHole reports whether a node is a placeholder for missing code.
func isHole(n ast.Node) bool {
	switch n.(type) {
	case *ast.BadExpr, *ast.BadType, *ast.BadPat:
		return n.Span().Start == n.Span().End
	}
	return false
}

func isWordByte(b byte) bool { return isLetter(b) || b >= '0' && b <= '9' }

// kindBefore returns the kind of the n-th token before the word, or EOF if there are fewer tokens.
func (c *completer) kindBefore(n int) lexer.Kind {
	if n > len(c.toks) {
		return lexer.EOF
	}
	return c.toks[len(c.toks)-n].Kind
}

// wordBefore returns the text of the n-th token before the word.
func (c *completer) wordBefore(n int) string {
	if n > len(c.toks) {
		return ""
	}
	return c.text.file.Slice(c.toks[len(c.toks)-n].Span())
}

// innermost returns the innermost node of type N that contains the cursor.
func innermost[N ast.Node](c *completer) (n N, ok bool) {
	for i := len(c.nodes) - 1; i >= 0; i-- {
		if n, ok = c.nodes[i].(N); ok {
			return n, true
		}
	}
	return n, false
}

// inCommentOrLiteral reports whether the cursor is in a comment, a number or the literal part of a
// string.
func (c *completer) inCommentOrLiteral() bool {
	all, comments, _ := lexer.Lex(c.text.file)
	for _, x := range comments {
		if x.Start < c.pos && c.pos <= x.End {
			return true
		}
	}
	for _, t := range all {
		inside := t.Start < c.pos && c.pos < t.End
		switch t.Kind {
		case lexer.String, lexer.StringHead, lexer.StringMid, lexer.StringTail:
			if inside {
				return t.Kind != lexer.String || !endsInInterpolation(c.text.file.Slice(source.Span{Start: t.Start, End: c.pos}))
			}
		case lexer.Int, lexer.Float:
			if inside || t.End == c.pos {
				return true
			}
		}
	}
	return false
}

// endsInInterpolation reports whether a text ends inside a `${` without a closing brace.
func endsInInterpolation(text string) bool {
	i := strings.LastIndex(text, "${")
	return i >= 0 && !strings.Contains(text[i:], "}") && (i == 0 || text[i-1] != '\\')
}

func (c *completer) add(i Item) {
	key := i.Label
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	if i.Text == "" {
		i.Text = i.Label
	}
	c.items = append(c.items, i)
}

// addDef adds a declaration under a name.
func (c *completer) addDef(name string, d *sema.Def, order int) {
	i := Item{Label: name, Kind: itemKinds[d.Kind], order: order, doc: func() string { return c.describe(d) }}
	switch n := d.Node.(type) {
	case *ast.FnDecl:
		i.Signature = signature(d.Info.File.Source, n)
		if c.hasArguments() {
			break
		}
		i.Snippet = callSnippet(name, d)
		if i.Snippet == "" {
			i.Text = name + "()"
		}
	case *ast.Variant:
		i.Signature = oneLine(strings.TrimPrefix(d.Info.File.Source.Slice(n.Span()), n.Name.Name))
	}
	if i.Signature == "" && d.Type != nil && types.Resolve(d.Type) != types.Bad && i.Kind != StructItem && i.Kind != EnumItem {
		i.Signature = ": " + typeText(d.Type)
	}
	if d.Info != nil && d.Info != c.info && !d.Info.Library {
		i.Origin = strings.TrimSuffix(d.Info.File.Source.Name[strings.LastIndexByte(d.Info.File.Source.Name, '/')+1:], ".conc")
	}
	c.add(i)
}

// hasArguments reports whether arguments already follow the word.
func (c *completer) hasArguments() bool {
	return int(c.word.End) < len(c.text.file.Text) && c.text.file.Text[c.word.End] == '('
}

// callSnippet returns a call with a placeholder for its arguments, or "" if the function has no
// parameters.
func callSnippet(name string, d *sema.Def) string {
	n := d.Node.(*ast.FnDecl)
	for _, p := range n.Params {
		if !p.IsSelf {
			return name + "($0)"
		}
	}
	return ""
}

var itemKinds = map[sema.DefKind]ItemKind{
	sema.DefModule: ModuleItem, sema.DefStruct: StructItem, sema.DefSchema: StructItem, sema.DefEnum: EnumItem, sema.DefAlias: StructItem,
	sema.DefTrait: InterfaceItem, sema.DefTypeParam: TypeParamItem, sema.DefBuiltin: StructItem, sema.DefFunction: FunctionItem,
	sema.DefMethod: MethodItem, sema.DefConst: ConstItem, sema.DefAgent: AgentItem, sema.DefHost: HostItem, sema.DefTool: ToolItem,
	sema.DefStore: StoreItem, sema.DefPipeline: PipelineItem, sema.DefStage: VariableItem, sema.DefField: FieldItem,
	sema.DefVariant: VariantItem, sema.DefVariable: VariableItem, sema.DefParam: VariableItem, sema.DefLabel: VariableItem,
	sema.DefDecorator: DecoratorItem, sema.DefConnection: ReferenceItem, sema.DefConnector: ReferenceItem,
}

// addKeyword adds a keyword.
func (c *completer) addKeyword(w string, order int) {
	c.add(Item{Label: w, Kind: KeywordItem, order: order, doc: func() string { return topic(w) }})
}

// withProgram calls f with the program. It holds the lock that allows one goroutine at a time to
// query the program.
func (c *completer) withProgram(f func(p *sema.Program)) {
	if c.info == nil {
		return
	}
	c.res.mu.Lock()
	defer c.res.mu.Unlock()
	f(c.res.prog)
}
