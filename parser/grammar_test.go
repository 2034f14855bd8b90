package parser

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/lexer"
)

// formGrammar returns the productions of all forms by name, as participle prints them, except for
// the names of leaves.
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

// specGrammar returns the productions and the tokens of spec/grammar.md.
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
					t.Errorf("%s is defined twice", name)
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

// The manual's grammar of headers and members is the same as that of the forms.
func TestGrammarOfForms(t *testing.T) {
	spec, _ := specGrammar(t)
	for name, body := range formGrammar() {
		if got, ok := spec[name]; !ok {
			t.Errorf("spec/grammar.md lacks\n%s = %s", name, body)
		} else if got != body {
			t.Errorf("%s is\n%s\nin spec/grammar.md, but\n%s\nin the parser", name, got, body)
		}
	}
}

var ebnfSymbol = regexp.MustCompile(`"[^"]+"|<[a-z]+>|[A-Z]\w*`)

// The manual's grammar is complete: names are defined and used, texts are tokens, and all tokens
// occur.
func TestGrammarIsWhole(t *testing.T) {
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
					t.Errorf("%s: the token %s is not defined", name, s)
				}
			default:
				if used[s] = true; spec[s] == "" {
					t.Errorf("%s: %s is not defined", name, s)
				}
			}
		}
	}
	for name := range spec {
		if !used[name] {
			t.Errorf("%s is never used", name)
		}
	}
	// `>=` is two adjacent tokens; the others are words and texts of forms.
	contextual := []string{"on", "uses", "mock", "parallel", "race", "limit", "description", "_", "${"}
	for text := range texts {
		if _, ok := lexer.Lookup(text); !ok && text != ">=" && !slices.Contains(contextual, text) {
			t.Errorf("%q is no token", text)
		}
	}
	for k := range lexer.NumKinds {
		if i := k.Info(); (i.Class == lexer.Operator || i.Class == lexer.Keyword) && !texts[i.Text] {
			t.Errorf("the grammar never uses %q", i.Text)
		}
	}
}
