package sema_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// codePlaces are programs in which a piece of code replaces the `$`. A piece must parse in one of
// them.
var codePlaces = []string{
	"fn f() { match x { $ => 1 } }", "fn f() { loop { $ } }", "fn f() { loop { $; } }", "fn f() { x$; }", "fn f() { match x { $ } }", "fn f() $ { }",
	"$ { }", "$\nfn f() { }", "type A = $;", "agent A uses c { $ }", "pipeline P() -> Int { $ }",
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// notCode maps pieces in hints that look like code, but do not parse, to the reason.
var notCode = map[string]string{
	"${name}": "it is written in a string",
}

// ellipses replace the `…` in a hint with code.
var ellipses = []*strings.Replacer{
	strings.NewReplacer("{ … }", "{ }", "…", "x"), strings.NewReplacer("{ … }", "{ x => x }", "…", "x: Int"), strings.NewReplacer("{ … }", `{ "result" => |x| x }`, "…", "x in x { }"),
}

// isPunctuation and areWords match pieces in backquotes that are not code, such as a sign, a
// keyword or a command.
var isPunctuation, areWords = regexp.MustCompile(`^[^\pL]*$`), regexp.MustCompile(`^[\w ]*$`)

// TestCodeInHints parses each piece of code in the hints for the catalogue's wrong programs.
func TestCodeInHints(t *testing.T) {
	n := 0
	for _, info := range diag.Catalogue() {
		if info.Manifest || info.Tools {
			continue
		}
		for _, p := range info.Pairs() {
			_, list := check("bad.conc", p.Bad)
			for _, d := range list.Sorted() {
				for _, h := range d.Hints {
					for _, m := range codeSpan.FindAllStringSubmatch(h, -1) {
						n++
						if code := m[1]; !readable(code) {
							t.Errorf("%s: the code `%s` in this hint does not parse: %s", d.Info.Code, code, h)
						}
					}
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("the hints contain only %d pieces of code", n)
	}
}

func readable(code string) bool {
	if isPunctuation.MatchString(code) || areWords.MatchString(code) || notCode[code] != "" {
		return true
	}
	return slices.ContainsFunc(ellipses, func(r *strings.Replacer) bool {
		return slices.ContainsFunc(codePlaces, func(place string) bool {
			_, list := parser.Parse(source.NewFile("hint.conc", []byte(strings.ReplaceAll(place, "$", r.Replace(code)))))
			return !list.HasErrors()
		})
	})
}
