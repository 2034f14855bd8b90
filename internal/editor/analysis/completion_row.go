package analysis

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/lexer"
)

// This file completes the elements of braced lists: fields, match arms, message handlers and
// methods.

// addFields offers the fields that a struct literal or pattern does not list yet.
func (c *completer) addFields() {
	present := map[string]bool{}
	var t types.Type
	var v *types.Variant
	isPattern := false
	if c.info == nil {
		return
	}
	note := func(id *ast.Ident) {
		if id != nil && (c.pos < id.Sp.Start || c.pos > id.Sp.End) {
			present[id.Name] = true
		}
	}
	switch n := c.enclosingList().(type) {
	case *ast.StructLit:
		if d := c.info.Struct(n); d != nil {
			t = d.Type
			if d.Variant != nil {
				v = d.Variant.Variant
			}
		}
		for _, f := range n.Fields {
			note(f.Name)
		}
	case *ast.StructPat:
		isPattern = true
		if d := c.info.Variant(n); d != nil {
			t, v = d.Type, d.Variant
		}
		for _, f := range n.Fields {
			note(f.Name)
		}
	}
	x, ok := types.Resolve(t).(*types.Named)
	if !ok {
		return
	}
	fields := x.Decl.Fields
	if v != nil {
		fields = v.Fields
	}
	for _, f := range fields {
		if present[f.Name] {
			continue
		}
		i := Item{Label: f.Name, Kind: FieldItem, Signature: ": " + typeText(f.Type), order: len(c.items), Text: f.Name + ": ", doc: func() string { return f.Doc }}
		if i.Snippet = f.Name + ": $0"; isPattern {
			i.Text, i.Snippet = f.Name, ""
		}
		c.add(i)
	}
}

// addArms offers the variants for which a match has no arm.
func (c *completer) addArms() {
	m, _ := c.enclosingList().(*ast.MatchExpr)
	if c.info == nil || m.Subject == nil {
		return
	}
	present := map[string]bool{}
	for _, a := range m.Arms {
		ast.Inspect(a.Pattern, func(n ast.Node) bool {
			if p, ok := n.(ast.Pattern); ok {
				if v := c.info.Variant(p); v != nil {
					present[v.Name] = true
				}
			}
			return true
		})
	}
	offer := func(name, pattern string) {
		if !present[name] {
			c.add(Item{Label: pattern, Kind: VariantItem, Text: pattern + " => ", Snippet: pattern + " => $0,", order: len(c.items)})
		}
	}
	switch t := types.Resolve(c.info.TypeOf(m.Subject)).(type) {
	case *types.Named:
		for _, v := range t.Decl.Variants {
			offer(v.Name, t.Decl.Name+"::"+v.Name+patternParts(v))
		}
	case *types.Option:
		offer("Some", "Some(value)")
		offer("None", "None")
	case *types.Result:
		offer("Ok", "Ok(value)")
		offer("Err", "Err(error)")
	case *types.Union:
		for _, v := range t.Values {
			offer(v, `"`+v+`"`)
		}
	case *types.Basic:
		if t == types.Bool {
			offer("true", "true")
			offer("false", "false")
		}
	}
	c.add(Item{Label: "_", Kind: KeywordItem, Text: "_ => ", Snippet: "_ => $0,", order: 99})
}

// patternParts returns a pattern for the values of a variant.
func patternParts(v *types.Variant) string {
	var parts []string
	for _, f := range v.Fields {
		if v.Named {
			parts = append(parts, f.Name)
		} else {
			parts = append(parts, "_")
		}
	}
	switch {
	case len(parts) == 0:
		return ""
	case v.Named:
		return " { " + strings.Join(parts, ", ") + " }"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// addMessages offers the message types that have no handler yet.
func (c *completer) addMessages() {
	n, ok := innermost[*ast.ListenExpr](c)
	if !ok {
		return
	}
	present := map[string]bool{}
	for _, h := range n.Handlers {
		if h.Type != nil && (c.pos < h.Type.Sp.Start || c.pos > h.Type.Sp.End) {
			present[h.Type.Value] = true
		}
	}
	inString := c.word.Start > 0 && c.text.file.Text[c.word.Start-1] == '"'
	var own []string
	if c.info != nil {
		if d := c.info.Listen(n); d != nil && d.Host != nil && c.res.input != nil && c.res.input.Manifest != nil {
			own = c.res.input.MessageTypes(d.Host.Connector)
		}
	}
	if len(own) == 0 { // the host may send every type of message
		own = hostmsg.Types((*hostmsg.Message).Handled)
	}
	for _, typ := range own {
		if present[typ] {
			continue
		}
		m := hostmsg.Lookup(typ)
		i := Item{Label: typ, Kind: MessageItem, doc: func() string { return m.Doc }, Text: `"` + typ + `" => `, Snippet: `"` + typ + `" => |m| $0,`}
		if m.Schema != "" {
			i.Signature = ": " + m.Schema
			i.Snippet = `"` + typ + `" => |` + typ[:1] + `: ` + m.Schema + `| $0,`
		}
		if inString {
			i.Text, i.Snippet = typ, ""
		}
		c.add(i)
	}
}

// addMissingMethods offers the methods of a trait that an impl lacks.
func (c *completer) addMissingMethods() {
	im, _ := c.enclosingList().(*ast.ImplDecl)
	has := map[string]bool{}
	for _, m := range im.Methods {
		if m.Name != nil && (c.pos < m.Name.Sp.Start || c.pos > m.Name.Sp.End) {
			has[m.Name.Name] = true
		}
	}
	named, ok := im.Trait.(*ast.NamedType)
	if !ok || len(named.Segments) == 0 {
		return
	}
	prefix := "fn "
	if c.kindBefore(1) == lexer.Fn {
		prefix = ""
	}
	last := named.Segments[len(named.Segments)-1]
	for _, r := range c.checkedFile.refsAt(last.Sp.Start) {
		t, ok := r.Def.Node.(*ast.TraitDecl)
		if !ok {
			continue
		}
		for _, m := range t.Methods {
			if m.Name == nil || has[m.Name.Name] {
				continue
			}
			sig := signature(r.Def.Info.File.Source, m)
			c.add(Item{Label: m.Name.Name, Kind: MethodItem, Signature: sig, Text: prefix + m.Name.Name + sig + " { }", Snippet: prefix + m.Name.Name + sig + " { $0 }"})
		}
	}
	if prefix != "" {
		c.addKeyword("fn", 1)
	}
}
