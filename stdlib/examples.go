package stdlib

import (
	"embed"
	"regexp"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// exampleFiles contains the examples that the reference shows for entries whose doc comment shows
// no call. The functions in examples/NAME.conc are the examples for the declarations in NAME.conc.
// They are also tests.
//
//go:embed examples/*.conc
var exampleFiles embed.FS

// sample is the body of an example function.
type sample string

// samplesOf returns the examples for a library file, in the order of the examples file.
func samplesOf(f *file) []sample {
	text, err := exampleFiles.ReadFile("examples/" + f.name)
	if err != nil {
		return nil // the doc comments of the library file show all calls
	}
	tree, diags := parser.Parse(source.NewFile("examples/"+f.name, text))
	if diags.HasErrors() {
		panic("stdlib: examples/" + f.name + " does not parse")
	}
	var out []sample
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FnDecl); ok && fn.Body != nil {
			body := strings.TrimSuffix(strings.TrimPrefix(tree.Source.Slice(fn.Body.Sp), "{\n"), "\n}")
			out = append(out, sample(strings.ReplaceAll("\n"+body, "\n    ", "\n")[1:]))
		}
	}
	return out
}

// usePattern returns an expression that matches a use of the entry name in an example.
func usePattern(name string) *regexp.Regexp {
	if module, last, ok := strings.Cut(name, "::"); ok {
		return regexp.MustCompile(`\b(` + module + `::)?` + last + `\b`)
	}
	if typ, method, ok := strings.Cut(name, "."); ok {
		return regexp.MustCompile(`(\.|\b` + typ + `::)` + method + `\b`)
	}
	return regexp.MustCompile(`\b` + name + `\b`)
}

// exampleOf returns the first example that uses the entry, or "" if there is none. For a method, it
// prefers an example that also contains the name of the type.
func exampleOf(samples []sample, name string) string {
	re, first := usePattern(name), ""
	typ, _, method := strings.Cut(name, ".")
	for _, s := range samples {
		if !re.MatchString(string(s)) {
			continue
		}
		if !method || strings.Contains(string(s), typ+"::") {
			return string(s)
		}
		if first == "" {
			first = string(s)
		}
	}
	return first
}

// callLine returns an expression that matches a line of a doc comment which shows a call: `f(x)`,
// or `f(x)` is y.
var callLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?m)^ *`[^`]*[(\\[][^`]*`( is |$)") })

// hasExample reports whether a doc comment shows a call.
func hasExample(doc string) bool { return callLine().MatchString(doc) }
