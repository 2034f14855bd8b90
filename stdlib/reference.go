package stdlib

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/ast"
)

// The index and the parts are first, because the reference is read with them.
//go:generate go run ./gen -index files.go
//go:generate go run ./gen ../spec/std

// Page is a page of the reference: a module, or some built-in types.
type Page struct {
	Name     string // name of the page's file without the extension
	Title    string
	Sections []Section
}

// Section is the reference of one library file: its introduction and its declarations.
type Section struct {
	Title   string // "" if the page has only one section
	Intro   string
	Entries []Entry
}

// Entry is a function, method, constant or type in the reference. Doc is Markdown.
type Entry struct {
	Name      string // name that programs use: "json::parse", "Array.push"
	Signature string
	Doc       string
	Example   string // statements of an example; "" if Doc shows a call
}

// groups contains the pages that are not modules, with their files. The page types also contains
// all files of methods that no page lists.
var groups = []struct {
	name, title string
	files       []string
}{
	{"prelude", "Prelude", []string{"prelude.conc", "records.conc", "messages.conc", "errors.conc"}},
	{"types", "Methods of the built-in types", []string{"any.conc", "int.conc", "float.conc", "bool.conc", "string.conc", "array.conc", "map.conc", "option.conc", "result.conc", "range.conc", "error.conc", "task.conc"}},
	{"stores", "Methods of stores", []string{"memory.conc", "hashmap.conc", "ledger.conc", "queue.conc", "ledger_query.conc"}},
	{"agents", "Methods of agents, hosts and MCP servers", []string{"agent.conc", "stream.conc", "typed_stream.conc", "host.conc", "host_stream.conc", "mcp_records.conc", "tool.conc"}},
	{"testing", "Functions for tests", []string{"testing.conc"}},
}

// Pages returns the reference of the library.
func Pages() []Page {
	var pages []Page
	for _, g := range groups {
		p := Page{Name: g.name, Title: g.title}
		names := g.files
		for i := range files {
			if f := &files[i]; g.name == "types" && f.methods != "" && !isOnListedPage(f.name) {
				names = append(names, f.name)
			}
		}
		for _, name := range names {
			i := slices.IndexFunc(files[:], func(f file) bool { return f.name == name })
			p.Sections = append(p.Sections, sectionOf(&files[i]))
		}
		pages = append(pages, p)
	}
	for i := range files {
		if f := &files[i]; f.module != "" {
			s := sectionOf(f)
			s.Title = ""
			pages = append(pages, Page{Name: f.module, Title: "std::" + f.module, Sections: []Section{s}})
		}
	}
	return pages
}

// isOnListedPage reports whether a file belongs to a page in groups that lists its files.
func isOnListedPage(name string) bool {
	for _, g := range groups {
		if slices.Contains(g.files, name) {
			return true
		}
	}
	return false
}

// titles contains the titles of sections that do not describe the methods of one type.
var titles = map[string]string{"prelude.conc": "Functions", "records.conc": "Structs", "messages.conc": "Messages of hosts",
	"errors.conc": "Errors", "ledger_query.conc": "LedgerQuery", "stream.conc": "Stream", "typed_stream.conc": "TypedStream", "host_stream.conc": "HostStream", "mcp_records.conc": "Resources and prompts of MCP servers"}

func sectionOf(f *file) Section {
	tree := load(f.name, "")
	s := Section{Title: titles[f.name], Intro: introOf(f)}
	if f.methods != "" {
		s.Title = f.methods
	}
	samples := samplesOf(f)
	add := func(name, signature, doc string) {
		e := Entry{Name: name, Signature: signature, Doc: doc}
		if !hasExample(doc) {
			e.Example = exampleOf(samples, name)
		}
		s.Entries = append(s.Entries, e)
	}
	method := func(of *ast.ImplDecl, m *ast.FnDecl) {
		name, signature := targetOf(of)+"."+m.Name.Name, signatureOf(tree, m)
		special := specialTarget(tree, of)
		if special != "" {
			signature = special + ": " + signature
		}
		i := slices.IndexFunc(s.Entries, func(e Entry) bool { return e.Name == name })
		if i < 0 {
			add(name, signature, m.Doc)
			return
		}
		e := &s.Entries[i]
		e.Signature += "\n" + signature
		if !strings.HasPrefix(e.Doc, m.Doc) {
			e.Doc = strings.TrimRight(e.Doc, "\n") + "\n\nOf `" + special + "`: " + m.Doc
		}
	}
	prefix := ""
	if f.module != "" {
		prefix = f.module + "::"
	}
	for _, d := range tree.Decls {
		h := d.Head()
		switch d := d.(type) {
		case *ast.FnDecl:
			if d.Pub {
				add(prefix+h.Name.Name, signatureOf(tree, d), d.Doc)
			}
		case *ast.ConstDecl:
			if d.Pub {
				add(prefix+h.Name.Name, "const "+h.Name.Name+": "+tree.Source.Slice(d.Type.Span()), d.Doc)
			}
		case *ast.StructDecl:
			if d.Pub {
				add(prefix+h.Name.Name, "struct "+h.Name.Name+generics(tree, d.Generics), d.Doc+fieldsOf(tree, d.Fields, false))
			}
		case *ast.SchemaDecl:
			add(prefix+h.Name.Name, "schema "+h.Name.Name, d.Doc+fieldsOf(tree, d.Fields, true))
		case *ast.ToolDecl:
			add(prefix+h.Name.Name, "tool "+h.Name.Name, d.Doc)
			for _, m := range d.Methods {
				add(prefix+h.Name.Name+"."+m.Name.Name, signatureOf(tree, m), m.Doc)
			}
		case *ast.ImplDecl:
			for _, m := range d.Methods {
				if m.Pub {
					method(d, m)
				}
			}
		default: // programs cannot use the others
		}
	}
	return s
}

// targetOf returns the name of the type to which an impl adds methods.
func targetOf(d *ast.ImplDecl) string {
	named, ok := d.Target.(*ast.NamedType)
	if !ok {
		return ""
	}
	return named.Segments[len(named.Segments)-1].Name
}

// specialTarget returns the type to which an impl adds methods if it is a special case, such as
// "Array<Int>". It returns "" for the general case `impl<T> Array<T>`.
func specialTarget(tree *ast.File, d *ast.ImplDecl) string {
	named, ok := d.Target.(*ast.NamedType)
	if !ok || len(named.Args) == 0 {
		return ""
	}
	free := map[string]bool{}
	for _, p := range d.Generics {
		free[p.Name.Name] = true
	}
	for _, a := range named.Args {
		if n, ok := a.(*ast.NamedType); !ok || len(n.Args) > 0 || !free[n.Segments[0].Name] {
			return tree.Source.Slice(d.Target.Span())
		}
	}
	return ""
}

// introOf returns the comment at the beginning of a file, without the name of the module.
func introOf(f *file) string {
	var lines []string
	for line := range strings.Lines(string(textOf(f.name).Text)) {
		text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "//")
		if !ok || strings.HasPrefix(text, "/") {
			break
		}
		lines = append(lines, strings.TrimPrefix(text, " "))
	}
	return capitalize(strings.TrimPrefix(strings.Join(lines, "\n"), "std::"+f.module+": "))
}

// signatureOf returns the signature of a function in the form for callers.
func signatureOf(tree *ast.File, d *ast.FnDecl) string {
	s := tree.Source.Slice(d.Signature)
	if i := strings.Index(s, "fn "); i >= 0 {
		s = s[i:]
	}
	s = strings.ReplaceAll(joinLines(s), "@regex ", "")
	for _, m := range d.Decorators {
		switch m.Name.Name {
		case "shape":
			s = strings.NewReplacer(", shape: Shape", "", "shape: Shape", "").Replace(s)
		case "variadic":
			s = strings.Replace(s, "xs: Array<Any>", "xs…", 1)
		}
	}
	return s
}

// joinLines returns a signature on one line. The formatter may have split it.
func joinLines(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("( ", "(", ", )", ")").Replace(s)
}

func generics(tree *ast.File, params []*ast.TypeParam) string {
	var names []string
	for _, p := range params {
		names = append(names, p.Name.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return "<" + strings.Join(names, ", ") + ">"
}

// fieldsOf returns the fields of a schema, or the public fields of a struct, as text.
func fieldsOf(tree *ast.File, fields []*ast.FieldDecl, all bool) string {
	var out strings.Builder
	for _, f := range fields {
		if !all && !f.Pub {
			continue
		}
		item := "- `" + fieldText(tree, f) + "`"
		if f.Doc != "" {
			item += ": " + f.Doc
		}
		out.WriteString("\n" + strings.TrimSuffix(WrapItem(item), "\n"))
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n" + out.String()
}

// unbreakable matches text that WrapItem does not split: a word including the code spans in it.
var unbreakable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?:`[^`]*`|[^\\s`])+") })

// WrapItem returns a Markdown list item as lines of at most 100 characters.
func WrapItem(item string) string {
	var b strings.Builder
	width := 0
	for _, p := range unbreakable().FindAllString(item, -1) {
		n := utf8.RuneCountInString(p)
		switch {
		case width == 0:
		case width+1+n > 100:
			b.WriteString("\n  ")
			width = 2
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(p)
		width += n
	}
	return b.String() + "\n"
}

// fieldText returns a field in the form of its declaration: "percent?: Int".
func fieldText(tree *ast.File, f *ast.FieldDecl) string {
	mark := ""
	if f.Optional {
		mark = "?"
	}
	return f.Name.Name + mark + ": " + tree.Source.Slice(f.Type.Span())
}

// Markdown returns the text of the page.
func (p Page) Markdown() string {
	var out strings.Builder
	shown := map[string]bool{}
	out.WriteString("# " + p.Title + "\n\nThis page is generated from the library's source.\n")
	for _, s := range p.Sections {
		if s.Title != "" {
			out.WriteString("\n## " + s.Title + "\n")
		}
		out.WriteString("\n" + s.Intro + "\n")
		for _, e := range s.Entries {
			out.WriteString("\n### `" + e.Name + "`\n\n```\n" + e.Signature + "\n```\n")
			if e.Doc != "" {
				out.WriteString("\n" + strings.TrimSpace(e.Doc) + "\n")
			}
			if e.Example != "" && !shown[e.Example] {
				shown[e.Example] = true // an example appears once on a page, even if it is the example of several entries
				out.WriteString("\n```\n" + e.Example + "\n```\n")
			}
		}
	}
	return out.String()
}
