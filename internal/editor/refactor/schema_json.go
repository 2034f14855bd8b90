package refactor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// schemaFromJSON declares schemas for a JSON text that contains an object or an array of objects.
// The text is in a string, or it is the whole text of a document that is no file.
func schemaFromJSON(in *Input) []diag.Edit {
	if in.Untitled {
		if all, ok := in.schemasOf(string(in.File.Text), "Data"); ok {
			return []diag.Edit{diag.Replace(source.Span{End: source.Pos(len(in.File.Text))}, all+"\n")}
		}
	}
	n, ok := nearest[*ast.StringLit](in)
	if !ok || in.Broken {
		return nil
	}
	own := in.moduleDecl(n.Sp)
	if own == nil {
		return nil
	}
	name := "data"
	if l, ok := nearest[*ast.LetStmt](in); ok {
		if v, named := l.Pattern.(*ast.NamePat); named && l.Value == ast.Expr(n) {
			name = v.Name.Name
		}
	}
	all, ok := in.schemasOf(n.Value, name)
	if !ok {
		return nil
	}
	return []diag.Edit{in.insertBefore(own, all)}
}

// schemasOf returns the schema declarations for a JSON text. The last declaration is that of the
// root object.
func (in *Input) schemasOf(text, root string) (string, bool) {
	if s := strings.TrimSpace(text); s == "" || s[0] != '{' && s[0] != '[' {
		return "", false
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	f, err := readForm(d)
	if err != nil {
		return "", false
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", false
	}
	x := schemas{in: in, names: map[string]bool{}}
	for f.kind == arrayForm && f.elem != nil {
		f = f.elem
	}
	if f.kind != objectForm || !f.hasPlainKeys() {
		return "", false
	}
	x.typeOf(f, root, "")
	return strings.Join(x.all, "\n\n"), true
}

// formKind is the kind of a JSON value.
type formKind uint8

const (
	anyForm formKind = iota
	nullForm
	stringForm
	intForm
	floatForm
	boolForm
	arrayForm
	objectForm
)

// form describes the structure that several JSON values have in common.
type form struct {
	kind   formKind
	elem   *form // form of an array's elements; nil for an empty array
	fields []*formField
	null   bool // some values are null
}

type formField struct {
	name     string
	form     *form
	optional bool
}

// hasPlainKeys reports whether all keys of an object are valid field names.
func (f *form) hasPlainKeys() bool {
	for _, x := range f.fields {
		if !isWord(x.name) {
			return false
		}
	}
	return len(f.fields) > 0
}

func readForm(d *json.Decoder) (*form, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case string:
		return &form{kind: stringForm}, nil
	case bool:
		return &form{kind: boolForm}, nil
	case json.Number:
		if strings.ContainsAny(t.String(), ".eE") {
			return &form{kind: floatForm}, nil
		}
		return &form{kind: intForm}, nil
	case json.Delim:
		if t == '[' {
			return readElems(d)
		}
		return readFields(d)
	}
	return &form{kind: nullForm}, nil
}

func readElems(d *json.Decoder) (*form, error) {
	f := &form{kind: arrayForm}
	for d.More() {
		e, err := readForm(d)
		if err != nil {
			return nil, err
		}
		f.elem = mergeForms(f.elem, e)
	}
	_, err := d.Token()
	return f, err
}

func readFields(d *json.Decoder) (*form, error) {
	f := &form{kind: objectForm}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := readForm(d)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if i := f.field(name); i >= 0 { // of duplicate keys, the last one counts
			f.fields[i].form = v
		} else {
			f.fields = append(f.fields, &formField{name: name, form: v})
		}
	}
	_, err := d.Token()
	return f, err
}

func (f *form) field(name string) int {
	return slices.IndexFunc(f.fields, func(x *formField) bool { return x.name == name })
}

// mergeForms returns a form that describes the values of both forms.
func mergeForms(a, b *form) *form {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.kind == nullForm:
		b.null = true
		return b
	case b.kind == nullForm:
		a.null = true
		return a
	}
	null := a.null || b.null
	switch {
	case a.kind == intForm && b.kind == floatForm:
		a.kind = floatForm
	case a.kind == floatForm && b.kind == intForm:
	case a.kind != b.kind:
		a = &form{kind: anyForm}
	case a.kind == arrayForm:
		a.elem = mergeForms(a.elem, b.elem)
	case a.kind == objectForm:
		for _, x := range a.fields {
			x.optional = x.optional || b.field(x.name) < 0
		}
		for _, y := range b.fields {
			if i := a.field(y.name); i >= 0 {
				a.fields[i].form = mergeForms(a.fields[i].form, y.form)
				a.fields[i].optional = a.fields[i].optional || y.optional
			} else {
				a.fields = append(a.fields, &formField{y.name, y.form, true})
			}
		}
	}
	a.null = null
	return a
}

// schemas collects schema declarations. Each one comes after the declarations that it uses.
type schemas struct {
	in    *Input
	names map[string]bool
	all   []string
}

// typeOf returns the type for values of a form. name is the name of the field with that type, and
// owner is the schema that contains the field.
func (x *schemas) typeOf(f *form, name, owner string) string {
	switch {
	case f == nil:
		return "Any"
	case f.kind == arrayForm:
		return "Array<" + x.elemOf(f.elem, singular(name), owner) + ">"
	case f.kind == objectForm && f.hasPlainKeys():
		return x.declare(f, name, owner)
	case f.kind == objectForm:
		var all *form
		for _, y := range f.fields {
			all = mergeForms(all, y.form)
		}
		return "Map<String, " + x.elemOf(all, singular(name), owner) + ">"
	}
	return map[formKind]string{stringForm: "String", intForm: "Int", floatForm: "Float", boolForm: "Bool"}[f.kind] + map[bool]string{true: "Any"}[f.kind <= nullForm]
}

// elemOf returns the type of an array's elements. It is an Option if some elements are null.
func (x *schemas) elemOf(f *form, name, owner string) string {
	t := x.typeOf(f, name, owner)
	if f != nil && f.null && t != "Any" {
		t += "?"
	}
	return t
}

// declare declares a schema. If the name is already used, it prepends the name of the owner.
func (x *schemas) declare(f *form, name, owner string) string {
	isUsed := func(n string) bool {
		return x.names[n] || !x.in.Untitled && x.in.freshName(n) != n || x.in.isPreludeName(n)
	}
	if name = typeName(name); isUsed(name) {
		name = unusedName(owner+name, isUsed)
	}
	x.names[name] = true
	var rows strings.Builder
	for _, y := range f.fields {
		optional := ""
		if y.optional || y.form.null || y.form.kind == nullForm {
			optional = "?"
		}
		rows.WriteString("    " + y.name + optional + ": " + x.typeOf(y.form, y.name, name) + ",\n")
	}
	x.all = append(x.all, "schema "+name+" {\n"+rows.String()+"}")
	return name
}

// singular returns the singular of a plural name.
func singular(name string) string {
	for _, end := range []struct{ many, one string }{{"ies", "y"}, {"sses", "ss"}, {"xes", "x"}, {"ches", "ch"}, {"shes", "sh"}, {"ss", "ss"}, {"s", ""}} {
		if rest, ok := strings.CutSuffix(name, end.many); ok && rest != "" {
			return rest + end.one
		}
	}
	return name
}
