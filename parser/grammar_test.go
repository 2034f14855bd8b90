package parser

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/lexer"
)

// formGrammar returns the productions of all forms by name. The productions are written as
// participle prints them, except that leaves have the names of the manual.
func formGrammar() map[string]string {
	all := map[string]string{}
	for _, p := range productions {
		p.build()
		for line := range strings.SplitSeq(p.ebnf, "\n") {
			name, body, _ := strings.Cut(line, " = ")
			all[name] = ebnfName.ReplaceAllStringFunc(strings.TrimSuffix(body, " ."), func(n string) string {
				if ours := leafNames[n]; ours != "" {
					return ours
				}
				return n
			})
		}
	}
	return all
}

var ebnfName = regexp.MustCompile(`"[^"]+"|<[a-z]+>|\w+`)

// specGrammar returns the productions and the tokens in spec/grammar.md.
func specGrammar(t *testing.T) (productions map[string]string, tokens []string) {
	t.Helper()
	text, err := os.ReadFile("../spec/grammar.md")
	if err != nil {
		t.Fatal(err)
	}
	productions = map[string]string{}
	name := ""
	for _, block := range regexp.MustCompile("(?s)```ebnf\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			switch head, body, ok := strings.Cut(line, "= "); {
			case strings.HasPrefix(line, "<"):
				tokens = append(tokens, strings.Fields(line)[0])
			case ok && !strings.HasPrefix(line, " "):
				name = strings.TrimSpace(head)
				if _, twice := productions[name]; twice {
					t.Errorf("spec/grammar.md defines %s twice", name)
				}
				productions[name] = body
			default:
				productions[name] += " " + line
			}
		}
	}
	for name, body := range productions {
		productions[name] = strings.Join(strings.Fields(body), " ")
	}
	return productions, append(tokens, "<text>")
}

// TestGrammarOfForms checks that the manual's grammar of headers and members is the grammar of the
// forms.
func TestGrammarOfForms(t *testing.T) {
	spec, _ := specGrammar(t)
	for name, body := range formGrammar() {
		if got, ok := spec[name]; !ok {
			t.Errorf("spec/grammar.md does not contain\n%s = %s", name, body)
		} else if got != body {
			t.Errorf("%s differs: spec/grammar.md has\n%s\nand the parser has\n%s", name, got, body)
		}
	}
}

var ebnfSymbol = regexp.MustCompile(`"[^"]+"|<[a-z]+>|[A-Z]\w*`)

// TestGrammarIsComplete checks that the manual's grammar is complete: each used name is defined,
// each defined name is used, each literal text is a token, and each token occurs in a production.
func TestGrammarIsComplete(t *testing.T) {
	spec, tokens := specGrammar(t)
	used := map[string]bool{"Program": true}
	texts := map[string]bool{}
	for name, body := range spec {
		for _, s := range ebnfSymbol.FindAllString(body, -1) {
			switch s[0] {
			case '"':
				texts[strings.Trim(s, `"`)] = true
			case '<':
				if !slices.Contains(tokens, s) {
					t.Errorf("the production of %s uses the token %s, which is not defined", name, s)
				}
			default:
				if used[s] = true; spec[s] == "" {
					t.Errorf("the production of %s uses %s, which is not defined", name, s)
				}
			}
		}
	}
	for name := range spec {
		if !used[name] {
			t.Errorf("no production uses %s", name)
		}
	}
	// The other texts are words that are keywords only in some forms. `>=` consists of two adjacent
	// tokens.
	contextual := []string{"on", "uses", "mock", "queue", "parallel", "race", "limit", "description", "_", "${"}
	for text := range texts {
		if _, ok := lexer.Lookup(text); !ok && text != ">=" && !slices.Contains(contextual, text) {
			t.Errorf("the grammar uses %q, which the lexer does not know", text)
		}
	}
	for k := range lexer.NumKinds {
		if i := k.Info(); (i.Class == lexer.Operator || i.Class == lexer.Keyword) && !texts[i.Text] {
			t.Errorf("no production uses the token %q", i.Text)
		}
	}
}
