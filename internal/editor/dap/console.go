package dap

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// consoleVar is a variable that a `let` in the console declares. It is visible in every frame until
// the run ends.
type consoleVar struct {
	name  string
	typ   types.Type
	mut   bool
	value value.Slot
}

// console stores the variables that the console has declared. A later variable replaces an earlier
// one of the same name.
type console struct {
	all     []*consoleVar
	changes int // number of `let`s so far; texts that were compiled before the last change may be outdated
}

func (c *console) variable(name string) *consoleVar {
	for _, v := range slices.Backward(c.all) {
		if v.name == name {
			return v
		}
	}
	return nil
}

// hiddenPrefix is the prefix of the names of generated variables.
const hiddenPrefix = "console_"

// nameMatcher returns a function that reports whether a text contains a name.
func nameMatcher(text string) func(name string) bool {
	return func(name string) bool { return regexp.MustCompile(`\b` + name + `\b`).MatchString(text) }
}

// declarations returns statements that declare console variables for the checker: those for whose
// name the filter returns true. The statements are never executed. They declare the types without
// the original expressions, because those may refer to another frame.
func (c *console) declarations(wanted func(name string) bool) (lets string, used map[string]*consoleVar) {
	used = map[string]*consoleVar{}
	var b strings.Builder
	for _, x := range c.all {
		v := c.variable(x.name)
		if used[v.name] != nil || !wanted(v.name) {
			continue
		}
		used[v.name] = v
		mut := ""
		if v.mut {
			mut = "mut "
		}
		fmt.Fprintf(&b, "let %[4]s%[1]s: Option<%[2]s> = None; let %[3]s%[1]s = %[4]s%[1]s.unwrap(); ", v.name, types.Full(v.typ), mut, hiddenPrefix)
	}
	return b.String(), used
}

// parseLet returns the `let` if the text consists of a single `let` of one name, or else nil.
func parseLet(text string) *ast.LetStmt {
	tree, found := parser.Parse(source.NewFile("console", []byte("fn console() {\n"+trimSemicolon(text)+";\n}")))
	if found.HasErrors() || len(tree.Decls) != 1 {
		return nil
	}
	fn, ok := tree.Decls[0].(*ast.FnDecl)
	if !ok || fn.Body == nil || len(fn.Body.Stmts) != 1 || fn.Body.Tail != nil {
		return nil
	}
	l, ok := fn.Body.Stmts[0].(*ast.LetStmt)
	if !ok || l.Value == nil {
		return nil
	}
	if _, name := l.Pattern.(*ast.NamePat); !name {
		return nil
	}
	return l
}

// trimSemicolon removes the `;` at the end of a statement.
func trimSemicolon(text string) string { return strings.TrimRight(text, "; \t\r\n") }

// evaluateLet runs a `let` of the console and stores the variable.
func (r *Run) evaluateLet(f *frameRef, text string, l *ast.LetStmt, h evalOptions) (*consoleVar, error) {
	v := &consoleVar{name: l.Pattern.(*ast.NamePat).Name.Name, mut: l.Mut}
	c, err := r.compile(f, trimSemicolon(text)+"; "+v.name)
	if err != nil {
		return nil, err
	}
	if v.value, err = r.execute(f, c, h); err != nil {
		return nil, err
	}
	v.typ = c.result
	r.debuggee.console.all = append(r.debuggee.console.all, v)
	r.debuggee.console.changes++
	return v, nil
}
