package main

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// form is a struct whose fields' tags are a production of participle's.
type form struct {
	name   string
	fields []field
	rule   *alternatives
}

// field is a field of a form with its type as it is written.
type field struct{ name, typ string }

// The part of the language of participle's tags that forms use. The tags of a
// form are read as one text with one line per field.

// alternatives is `a | b`.
type alternatives struct {
	List []*sequence `parser:"@@ ( '|' @@ )*"`
}

// sequence is `a b`.
type sequence struct {
	Terms []*term `parser:"@@+"`
}

// term is a fixed text, a token, the field's own form or a group; whether it is
// captured into the field; and how often it may occur.
type term struct {
	Pos     lexer.Position
	Capture bool          `parser:"@'@'?"`
	Own     bool          `parser:"( @'@'"`
	Text    string        `parser:"| @Text"`
	Token   string        `parser:"| @Word"`
	Group   *alternatives `parser:"| '(' @@ ')' )"`
	Times   string        `parser:"@( '?' | '*' )?"`
}

var tags = participle.MustBuild[alternatives](
	participle.Lexer(lexer.MustSimple([]lexer.SimpleRule{
		{Name: "Text", Pattern: `'[^']+'`},
		{Name: "Word", Pattern: `[A-Za-z]+`},
		{Name: "Sign", Pattern: `[@()|?*]`},
		{Name: "space", Pattern: `\s+`},
	})),
)

// forms reads the forms of a package's form_*.go, in the order of the text.
func forms(dir string) (list []*form, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "form_*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		file, err := goparser.ParseFile(token.NewFileSet(), path, nil, goparser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					f, err := newForm(s.(*ast.TypeSpec))
					if err != nil {
						return nil, fmt.Errorf("%s: %w", path, err)
					}
					if f != nil {
						list = append(list, f)
					}
				}
			}
		}
	}
	return list, nil
}

// newForm makes the form that a type is, or nil when its fields have no tags.
func newForm(s *ast.TypeSpec) (*form, error) {
	t, ok := s.Type.(*ast.StructType)
	if !ok {
		return nil, nil
	}
	f := &form{name: s.Name.Name}
	var lines []string
	for _, fd := range t.Fields.List {
		if fd.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(fd.Tag.Value)
		if err != nil {
			return nil, err
		}
		f.fields = append(f.fields, field{fd.Names[0].Name, typeName(fd.Type)})
		lines = append(lines, reflect.StructTag(tag).Get("parser"))
	}
	if len(lines) == 0 {
		return nil, nil
	}
	rule, err := tags.ParseString(f.name, strings.Join(lines, "\n"))
	if err != nil {
		return nil, err
	}
	f.rule = rule
	return f, nil
}

// typeName is a field's type as it is written.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return "*" + typeName(x.X)
	case *ast.ArrayType:
		return "[]" + typeName(x.Elt)
	case *ast.SelectorExpr:
		return typeName(x.X) + "." + x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	panic(fmt.Sprintf("a form's field is a %T", x))
}

// field is the field in whose tag a term stands.
func (f *form) field(t *term) field { return f.fields[t.Pos.Line-1] }
