package analysis

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// This file completes members after `.` and names after `::`.

// addMembers offers the members of the value before the `.`.
func (c *completer) addMembers() {
	dot := c.toks[len(c.toks)-1].Start
	var x ast.Expr
	for _, n := range nodesAt(c.tree, dot) {
		switch n := n.(type) {
		case *ast.FieldExpr:
			if n.X.Span().End <= dot {
				x = n.X
			}
		case *ast.MethodCall:
			if n.Recv.Span().End <= dot && n.Name != nil && n.Name.Sp.Start >= dot {
				x = n.Recv
			}
		}
	}
	if x == nil || c.info == nil {
		return
	}
	if t, ok := types.Resolve(c.info.TypeOf(x)).(*types.Tuple); ok {
		for i, e := range t.Elems {
			c.add(Item{Label: strconv.Itoa(i), Kind: FieldItem, Signature: ": " + typeText(e)})
		}
	}
	c.withProgram(func(p *sema.Program) {
		for i, d := range p.Members(c.info, c.info.TypeOf(x)) {
			order := 1
			if d.Kind == sema.DefField {
				order = 0
			}
			_ = i
			c.addDef(d.Name, d, order)
		}
	})
}

// addPathMembers offers the names that may follow a `::`.
func (c *completer) addPathMembers() {
	using := c.inUse()
	i := len(c.toks) - 1
	for using && i >= 0 && (c.toks[i].Kind == lexer.Comma || c.toks[i].Kind == lexer.LBrace || c.toks[i].Kind == lexer.Ident && c.toks[i+1].Kind == lexer.Comma) {
		i--
	}
	var segs []string
	for i >= 1 && c.toks[i].Kind == lexer.PathSep && (c.toks[i-1].Kind.IsWord()) {
		segs = append([]string{c.text.file.Slice(c.toks[i-1].Span())}, segs...)
		i -= 2
	}
	c.withProgram(func(p *sema.Program) {
		for _, n := range p.NamesAfterPath(c.info, c.nodes, segs, using) {
			c.addDef(n.Name, n.Def, 0)
			if using {
				c.useBareName()
			}
		}
	})
}

// useBareName changes the item added last so that it inserts only its name.
func (c *completer) useBareName() {
	if n := len(c.items); n > 0 {
		c.items[n-1].Snippet, c.items[n-1].Text = "", c.items[n-1].Label
	}
}

// addImports offers the names with which a `use` may begin.
func (c *completer) addImports() {
	if c.kindBefore(1) == lexer.Comma {
		c.addPathMembers()
		return
	}
	for _, w := range []string{"std", "super", "self"} {
		c.add(Item{Label: w, Kind: ModuleItem, order: 1})
	}
	c.withProgram(func(p *sema.Program) {
		for _, n := range p.Visible(c.info, c.nodes) {
			if n.Def.Kind == sema.DefModule || n.Def.Kind == sema.DefEnum {
				c.addDef(n.Name, n.Def, 0)
			}
		}
	})
}

// addModuleFiles offers the files that this file can declare as modules.
func (c *completer) addModuleFiles() {
	dir := filepath.Dir(c.checkedFile.path)
	entry := ""
	if c.res.input != nil && c.res.input.Entry != nil {
		entry = pathOfName(c.res.input.Entry.Name)
	}
	if filepath.Base(c.checkedFile.path) != "mod"+driver.SourceExt && c.checkedFile.path != entry {
		dir = strings.TrimSuffix(c.checkedFile.path, filepath.Ext(c.checkedFile.path))
	}
	declared := map[string]bool{}
	for _, m := range c.text.mods {
		declared[m[len(m)-1]] = c.text.file.Slice(c.word) != m[len(m)-1]
	}
	for _, p := range c.s.Files() {
		p = c.s.realPath(p)
		name, in := strings.TrimSuffix(filepath.Base(p), filepath.Ext(p)), filepath.Dir(p)
		if name == "mod" {
			name, in = filepath.Base(in), filepath.Dir(in)
		}
		if in == dir && isProgram(p) && p != c.checkedFile.path && p != entry && !declared[name] {
			c.add(Item{Label: name, Kind: FileItem})
		}
	}
}
