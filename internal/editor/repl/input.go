package repl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/parser"
)

// Name is the file name of typed input. Empty is the program of a session without a file.
const (
	Name  = "<repl>"
	Empty = "fn main() {}\n"
)

// The names of declarations that a session adds to a program.
const (
	sessionName = "repl_session" // function that contains the inputs
	lineName    = "repl_line"    // closure with the statements of the input that runs
	boundName   = "repl_kept"    // closure that captures the variables that the input declares
	lastName    = "_repl_last"   // variable with the last value
)

// piece is a range of an input, or generated text.
type piece struct {
	at   source.Span
	text string
}

// input is a parsed input.
type input struct {
	file  *source.File
	decls []*declaration
	stmts []piece // statements, without the declarations
	tail  int     // index of the statement piece before which the `let` of the last value is inserted; -1 for none
	names []string
	last  source.Span // first use of the last value; empty if the input does not use it
	bare  bool        // the input contains no statements
}

// declaration is a declaration of the program or of an input.
type declaration struct {
	file   *source.File
	at     source.Span
	keys   []string // keys of the declared names; a later declaration with the same key replaces this one
	isType bool
	shown  bool // the diagnostics of the declaration were shown
	name   string
}

const head = "fn f() {\n"

// IsIncomplete reports whether a text is incomplete: a bracket, a string or a comment is open, or
// it ends with doc comments or decorators. Strings may span lines, as in a file.
func IsIncomplete(text string) bool {
	toks, comments, found := lexer.Lex(source.NewFile(Name, []byte(text)))
	if len(comments) > 0 && comments[len(comments)-1].Doc && comments[len(comments)-1].End > lastEnd(toks) {
		return true
	}
	if toks[0].Kind == lexer.At && !slices.ContainsFunc(toks, func(t lexer.Token) bool { return t.Kind != lexer.At && declares[t.Kind] }) {
		return true
	}
	for _, d := range found.Sorted() {
		// the misplaced quote of a label is not an open string
		if d.Info == diag.OpenComment || d.Info == diag.OpenString && len(d.Fixes) > 0 {
			return true
		}
	}
	depth := 0
	for _, t := range toks {
		switch t.Kind {
		case lexer.LParen, lexer.LBracket, lexer.LBrace:
			depth++
		case lexer.RParen, lexer.RBracket, lexer.RBrace:
			depth--
		}
	}
	return depth > 0
}

// parse parses a text as the content of a block. sound is false if the text has syntax errors.
func parse(text string) (block *ast.Block, sound bool) {
	file, found := parser.Parse(source.NewFile(Name, []byte(head+text+"\n}")))
	sound = true
	for _, d := range found.Sorted() {
		if d.Severity() == diag.Error && d.Info != diag.MisplacedDecl {
			sound = false
		}
	}
	for _, d := range file.Decls {
		if f, is := d.(*ast.FnDecl); is && f.Body != nil {
			return f.Body, sound && len(file.Decls) == 1
		}
	}
	return nil, false
}

// read parses an input. The result for a text with syntax errors contains neither declarations nor
// statements.
func read(name, text string) *input {
	in := &input{file: source.NewFile(name, []byte(text)), tail: -1}
	all := source.Span{End: source.Pos(len(text))}
	block, sound := parse(text)
	semi := source.Pos(-1)
	if !sound {
		if end := lastToken(in.file); end > 0 {
			b, ok := parse(text[:end] + ";" + text[end:])
			if ok {
				block, sound, semi = b, true, end
			}
		}
	}
	if !sound {
		if toks, _, _ := lexer.Lex(in.file); beginsDeclaration(toks, text) {
			in.decls, in.bare = []*declaration{{file: in.file, at: all}}, true
			return in
		}
		in.stmts = []piece{{at: all}}
		return in
	}
	in.addStatements(block, text, semi)
	return in
}

// declares lists the tokens that begin a declaration.
var declares = map[lexer.Kind]bool{lexer.Const: true, lexer.Fn: true, lexer.Agent: true, lexer.Host: true, lexer.Tool: true, lexer.Mcp: true, lexer.Schema: true, lexer.Struct: true,
	lexer.Enum: true, lexer.Trait: true, lexer.Impl: true, lexer.Type: true, lexer.Pub: true, lexer.Use: true, lexer.Mod: true, lexer.Pipeline: true, lexer.HashMap: true,
	lexer.Ledger: true, lexer.Memory: true, lexer.Async: true, lexer.At: true}

// beginsDeclaration reports whether the tokens of a text begin a declaration. That of a queue
// begins with an ordinary name.
func beginsDeclaration(toks []lexer.Token, text string) bool {
	if declares[toks[0].Kind] {
		return true
	}
	return len(toks) > 2 && toks[0].Kind == lexer.Ident && text[toks[0].Start:toks[0].End] == "queue" && toks[1].Kind == lexer.Ident && toks[2].Kind == lexer.Colon
}

// lastToken returns the end of the last token.
func lastToken(f *source.File) source.Pos {
	toks, _, _ := lexer.Lex(f)
	return lastEnd(toks)
}

func lastEnd(toks []lexer.Token) source.Pos {
	if len(toks) < 2 {
		return 0
	}
	return toks[len(toks)-2].End
}

// addStatements adds the declarations and statements of a block that has no syntax errors.
func (in *input) addStatements(b *ast.Block, text string, semi source.Pos) {
	const shift = source.Pos(len(head))
	cuts := in.lastValues(b, shift)
	at := source.Pos(0)
	in.bare = true
	upto := func(end source.Pos) {
		for _, c := range cuts {
			if c.Start < at || c.Start >= end {
				continue
			}
			in.stmts = append(in.stmts, piece{at: source.Span{Start: at, End: c.Start}}, piece{at: c, text: lastName})
			at = c.End
		}
		if semi >= 0 && at <= semi && semi <= end {
			in.stmts = append(in.stmts, piece{at: source.Span{Start: at, End: semi}}, piece{at: source.Span{Start: semi, End: semi}, text: ";"})
			at = semi
		}
		in.stmts = append(in.stmts, piece{at: source.Span{Start: at, End: end}})
		at = end
	}
	for _, s := range b.Stmts {
		start, end := s.Span().Start-shift, min(s.Span().End-shift, source.Pos(len(text)))
		if d, is := s.(*ast.DeclStmt); is {
			rest := text[end:]
			if trimmed := strings.TrimLeft(rest, " \t\r\n"); strings.HasPrefix(trimmed, ";") {
				end += source.Pos(len(rest) - len(trimmed) + 1)
			}
			// the comments before a declaration belong to it
			in.decls = append(in.decls, newDeclaration(in.file, source.Span{Start: at, End: end}, d.Decl))
			at = end
			continue
		}
		in.bare = false
		if let, is := s.(*ast.LetStmt); is {
			in.names = append(in.names, boundNames(let.Pattern)...)
		}
		_ = start
		upto(end)
	}
	if b.Tail != nil {
		in.bare = false
		start, end := b.Tail.Span().Start-shift, b.Tail.Span().End-shift
		if hasShownValue(b.Tail) {
			upto(start)
			in.tail = len(in.stmts)
			upto(end)
			in.stmts = append(in.stmts, piece{at: source.Span{Start: end, End: end}, text: ";"})
		}
	}
	if rest := source.Pos(len(text)); at < rest && !in.bare {
		upto(rest)
	}
}

// lastValues returns the positions at which the last value is used.
func (in *input) lastValues(b *ast.Block, shift source.Pos) (all []source.Span) {
	ast.Inspect(b, func(n ast.Node) bool {
		if p, is := n.(*ast.PathExpr); is && len(p.Segments) == 1 && p.Segments[0].Name == "_" {
			at := p.Segments[0].Sp
			all = append(all, source.Span{Start: at.Start - shift, End: at.End - shift})
			if in.last == (source.Span{}) {
				in.last = all[len(all)-1]
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b source.Span) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// hasShownValue reports whether the value of an expression at the end of an input is shown. Loops
// and assignments have no value to show.
func hasShownValue(e ast.Expr) bool {
	switch e.(type) {
	case *ast.ForExpr, *ast.WhileExpr, *ast.LoopExpr, *ast.Assign, *ast.ReturnExpr, *ast.ThrowExpr, *ast.BreakExpr, *ast.ContinueExpr:
		return false
	default: // the value of the others is shown
	}
	return true
}

// boundNames returns the names that a pattern binds.
func boundNames(p ast.Pattern) (names []string) {
	add := func(x *ast.Ident) {
		if x != nil && x.Name != "_" && (x.Name[0] < 'A' || x.Name[0] > 'Z') {
			names = append(names, x.Name)
		}
	}
	ast.Inspect(p, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.NamePat:
			add(n.Name)
		case *ast.BindPat:
			add(n.Name)
		}
		return true
	})
	return names
}

// newDeclaration returns a declaration with its keys.
func newDeclaration(f *source.File, at source.Span, d ast.Decl) *declaration {
	x := &declaration{file: f, at: at}
	x.keys, x.name, x.isType = keysOf(d)
	return x
}

func keysOf(d ast.Decl) (keys []string, name string, isType bool) {
	switch d := d.(type) {
	case *ast.ImplDecl:
		of := typeName(d.Target)
		if d.Trait != nil {
			return []string{"impl " + typeName(d.Trait) + " for " + of}, "", false
		}
		for _, m := range d.Methods {
			if m.Name != nil {
				keys = append(keys, "impl "+of+"."+m.Name.Name)
			}
		}
		return keys, "", false
	case *ast.StructDecl, *ast.EnumDecl, *ast.SchemaDecl, *ast.TypeDecl, *ast.TraitDecl:
		isType = true
	default: // the others declare one value
	}
	if n := d.Head().Name; n != nil {
		return []string{n.Name}, n.Name, isType
	}
	return nil, "", false
}

// typeName returns the name of the type in the head of an impl.
func typeName(t ast.Type) string {
	var b strings.Builder
	ast.Inspect(t, func(n ast.Node) bool {
		if x, is := n.(*ast.Ident); is {
			b.WriteString(x.Name + " ")
		}
		return true
	})
	return strings.TrimSpace(b.String())
}
