package editors_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// program is the text of a program with its tokens. Offsets are counted in UTF-16 units.
type program struct {
	Name   string   `json:"name"`
	Text   string   `json:"text"`
	Tokens [][3]any `json:"tokens"`
}

// odd maps names to texts that grammars often classify incorrectly.
var odd = map[string]string{
	"nested comments":       "/* a /* b */ c */ fn f() {} // end /* no\nlet x = 1;",
	"a string in a string":  `println("a ${ if x { "b ${y}" } else { "}" } } c");`,
	"braces in ${":          `println("${ {a: 1}["a"] }", "\${no}", "\"");`,
	"labels":                "fn f() { 'a: for x in xs { break 'a; continue 'a } 'b: while true { } let v = 'c: loop { break 'c 1; }; }",
	"quotes, not labels":    "let a = 'for'; let b = f('x', 'y'); let c = ['a', 'b'];",
	"raw strings":           "let a = r\"\\d \\\" + r#\"say \"hi\"\"# + r##\"a\"#b\"##; let r = 1; f(r);",
	"three quotes":          "let a = \"\"\"\n  one \"two\" ${three}\n  \"\"\"; let b = \"\";",
	"numbers":               "let a = [1, 1_000, 0xFF, 0b10, 0o7, 1.5, 2e3, 1e-3, 0..10, t.0.1, x1];",
	"words that are fields": "let Event { type: kind, match: hit } = e; let m = { stage: \"build\", for: \"you\" }; f(e.type, e.match, x.await);",
	"doc comments":          "/// doc\n//// not\n//// doc\nfn f() {}",
	"a slash alone":         "let a = b / c; let d = \"//\"; let e = '/*';",
	"paths and ranges":      "use std::math; let a = A::B..=c; let d = x?.y ?? z;",
}

// TestGrammar checks that the TextMate grammar classifies comments, strings, numbers, words and
// labels of the project's programs as the lexer does. For a reserved word that is used as a name,
// both classes are correct.
func TestGrammar(t *testing.T) {
	if !installed() {
		t.Skip("the packages that apply the grammar are not installed: run npm ci --prefix editors/vscode")
	}
	var all []program
	for name, text := range odd {
		all = append(all, classify(name, text))
	}
	for _, dir := range []string{"../examples", "../stdlib", "../bench", "../internal/cli/project/templates"} {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".conc" {
				return err
			}
			text, err := os.ReadFile(path)
			all = append(all, classify(path, string(text)))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	all = append(all, manual(t)...)
	if len(all) < 300 {
		t.Errorf("found only %d programs", len(all))
	}
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", "vscode/test/grammar.mjs")
	c.Stdin = bytes.NewReader(in)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var fence = regexp.MustCompile("(?ms)^```concerto[^\n]*\n(.*?)^```$")

// manual returns the programs of the manual that have no lexical errors.
func manual(t *testing.T) (all []program) {
	pages, err := filepath.Glob("../spec/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			if p := classify(page, m[1]); p.Tokens != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// classify returns the classes that the lexer assigns to the parts of a text. It returns an empty
// program if the text has an error.
func classify(name, text string) program {
	p := program{Name: name, Text: text}
	tokens, comments, found := lexer.Lex(source.NewFile(name, []byte(text)))
	if len(found.Sorted()) > 0 {
		return p
	}
	add := func(start, end source.Pos, class string) {
		p.Tokens = append(p.Tokens, [3]any{units(text[:start]), units(text[:end]), class})
	}
	for _, c := range comments {
		add(c.Start, c.End, "comment")
	}
	for i, k := range tokens {
		switch class := classOf(k.Kind); {
		case class == "":
		case class == "keyword" && isName(tokens, i):
		case class == "plain" && slices.Contains(contextual, text[k.Start:k.End]):
		default:
			add(k.Start, k.End, class)
		}
	}
	return p
}

var contextual = []string{"ask", "on", "uses", "mock", "parallel", "queue", "race"}

func classOf(k lexer.Kind) string {
	switch k {
	case lexer.EOF:
		return ""
	case lexer.Int, lexer.Float:
		return "number"
	case lexer.Label:
		return "label"
	}
	switch {
	case k.Info().Class == lexer.Literal:
		return "string"
	case k.IsKeyword():
		return "keyword"
	}
	return "plain"
}

// isName reports whether a reserved word is used as a name: after `.`, or before `:`.
func isName(all []lexer.Token, i int) bool {
	return i > 0 && all[i-1].Kind == lexer.Dot && all[i].Kind != lexer.Await || i+1 < len(all) && all[i+1].Kind == lexer.Colon
}

// units returns the number of UTF-16 units of a text.
func units(s string) (n int) {
	for _, r := range strings.ToValidUTF8(s, "?") {
		n++
		if r >= utf8.RuneSelf && r > 0xFFFF {
			n++
		}
	}
	return n
}
