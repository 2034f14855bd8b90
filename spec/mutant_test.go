package spec_test

import (
	"bytes"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// FuzzMutants compiles mutants of the manual's programs. A mutant has a few tokens replaced, mostly
// by tokens of the same kind, so that many mutants still compile. The compiler may report any
// diagnostics but must not panic. If the checker accepts a mutant, the verifier must accept the
// generated code.
func FuzzMutants(f *testing.F) {
	stock := gather(f)
	for seed := range int64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		text := stock.mutant(rand.New(rand.NewSource(seed)))
		defer func() {
			if p := recover(); p != nil {
				t.Fatalf("%v\n%s", p, text)
			}
		}()
		file, found := parser.Parse(source.NewFile("main.conc", []byte(text)))
		if found.HasErrors() {
			return
		}
		p, more := sema.Check(sema.Config{Name: "mutant", Library: stdlib.Library(), Manifest: stock.manifest}, file)
		found.Append(more)
		if err := diag.Text(io.Discard, found.Sorted(), diag.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if !found.HasErrors() {
			code, found := codegen.Generate(p, codegen.ManifestData{})
			if err := ir.Verify(code); err != nil && !found.HasErrors() {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}

// word is a token with the space before it.
type word struct {
	kind lexer.Kind
	text string
}

// stock contains the tokens from which mutants are built.
type stock struct {
	programs [][]word
	words    map[lexer.Kind][]string // tokens of all programs by kind
	manifest *sema.Manifest          // declares everything that the programs refer to
}

// values lists literals that may replace any other literal.
var values = []string{" 1", " 2.5", ` "s"`, " nil", " true", " [1]", " []", " {}", " { a: 1 }", " Some(1)", " (1, 2)", " |x| x", " panic(\"\")", " break"}

func gather(f *testing.F) *stock {
	s := &stock{words: map[lexer.Kind][]string{}, manifest: &sema.Manifest{
		File: "Concerto.toml", Connections: map[string]sema.ManifestConnection{"scripted": {Scripted: true}}, Hosts: map[string]sema.ManifestHost{},
	}}
	pages, err := filepath.Glob("*.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		p, err := parsePage(name, string(text))
		if err != nil {
			f.Fatal(err)
		}
		for _, prog := range p.programs {
			if prog.main != nil && !prog.manifest {
				s.add(prog.source())
			}
		}
	}
	return s
}

func (s *stock) add(text string) {
	tokens, _, _ := lexer.Lex(source.NewFile("main.conc", []byte(text)))
	var words []word
	at := 0
	for _, t := range tokens {
		if end := int(t.End); end > at {
			words = append(words, word{t.Kind, text[at:end]})
			s.words[t.Kind] = append(s.words[t.Kind], text[at:end])
			at = end
		}
	}
	s.programs = append(s.programs, words)
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			s.manifest.Hosts[m[1]] = sema.ManifestHost{}
		} else {
			s.manifest.Connections[m[2]] = sema.ManifestConnection{Scripted: true}
		}
	}
}

// mutant returns a program with one to three tokens changed.
func (s *stock) mutant(r *rand.Rand) string {
	of := s.programs[r.Intn(len(s.programs))]
	words := append([]word(nil), of...)
	for range 1 + r.Intn(3) {
		i := r.Intn(len(words))
		k := words[i].kind
		literal := k == lexer.Int || k == lexer.Float || k == lexer.String
		switch n := r.Intn(12); {
		case n < 3 && literal:
			words[i].text = values[r.Intn(len(values))]
		case n < 6: // a token of the same kind from the same program
			for _, j := range r.Perm(len(of)) {
				if of[j].kind == k && j != i {
					words[i] = of[j]
					break
				}
			}
		case n < 9:
			words[i].text = s.words[k][r.Intn(len(s.words[k]))]
		case n == 9:
			words[i] = words[r.Intn(len(words))]
		case n == 10:
			words[i].text = ""
		default:
			words[i].text += of[r.Intn(len(of))].text
		}
	}
	var b bytes.Buffer
	for _, w := range words {
		b.WriteString(w.text)
	}
	return strings.ToValidUTF8(b.String(), "")
}
